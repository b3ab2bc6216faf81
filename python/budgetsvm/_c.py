def to_c(*a, **k):
    raise NotImplementedError
