//! Named tensors in a safetensors container, read with every length checked before it is used.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;

use crc32fast::Hasher;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, Metadata, TensorInfo, View};
use serde_json::Value;

use super::strict;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::watch::Look;

/// The largest header that is read.
pub(super) const MAX_HEADER: u64 = 1 << 20;
/// The one key of `__metadata__`.
pub(super) const KEY: &str = "budgetsvm";
/// The array that holds the checksum.
const CHECKSUM: &str = "checksum";
const CHUNK: usize = 1 << 16;
/// Values that are written between two looks.
const AT_ONCE: usize = 1 << 20;

/// The values of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Signed integers.
    I64(Vec<i64>),
    /// Unsigned integers.
    U64(Vec<u64>),
    /// Bytes.
    U8(Vec<u8>),
}

impl Data {
    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::U8(v) => v.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A tensor in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Size of every dimension; their product is the number of values.
    pub shape: Vec<usize>,
    /// The values.
    pub data: Data,
}

/// Tensors by name.
pub type Tensors = BTreeMap<String, Tensor>;

impl Tensor {
    /// A vector in the precision of `F`.
    pub fn floats<F: Real>(values: &[F]) -> Self {
        let wide = values.iter().map(|v| Real::to_f64(*v));
        let data = if F::NAME == f32::NAME {
            Data::F32(wide.map(|v| v as f32).collect())
        } else {
            Data::F64(wide.collect())
        };
        Self { shape: vec![values.len()], data }
    }

    /// A vector in double precision.
    #[must_use]
    pub fn doubles(values: Vec<f64>) -> Self {
        Self { shape: vec![values.len()], data: Data::F64(values) }
    }

    /// A vector of whole numbers.
    #[must_use]
    pub fn counts(values: Vec<u64>) -> Self {
        Self { shape: vec![values.len()], data: Data::U64(values) }
    }

    /// Its values, if it is a vector.
    fn into_vector(self) -> Option<Data> {
        (self.shape == [self.data.len()]).then_some(self.data)
    }

    /// The vector called `name`, in the precision of `F`, taken out of `tensors`.
    ///
    /// # Errors
    /// `Format` when it is not there or of another type.
    pub fn take_floats<F: Real>(tensors: &mut Tensors, name: &str) -> Result<Vec<F>> {
        match tensors.remove(name).and_then(Tensor::into_vector) {
            Some(Data::F64(v)) if F::NAME == f64::NAME => {
                Ok(v.into_iter().map(F::from_f64).collect())
            }
            Some(Data::F32(v)) if F::NAME == f32::NAME => {
                Ok(v.into_iter().map(|v| F::from_f64(f64::from(v))).collect())
            }
            _ => Err(bad(format!("tensor {name:?}"))),
        }
    }

    /// The same in double precision.
    ///
    /// # Errors
    /// As [`Tensor::take_floats`].
    pub fn take_doubles(tensors: &mut Tensors, name: &str) -> Result<Vec<f64>> {
        Self::take_floats::<f64>(tensors, name)
    }

    /// The same of whole numbers.
    ///
    /// # Errors
    /// As [`Tensor::take_floats`].
    pub fn take_counts(tensors: &mut Tensors, name: &str) -> Result<Vec<u64>> {
        match tensors.remove(name).and_then(Tensor::into_vector) {
            Some(Data::U64(values)) => Ok(values),
            _ => Err(bad(format!("tensor {name:?}"))),
        }
    }
}

fn bad(reason: impl Into<String>) -> Error {
    Error::Format(reason.into())
}

/// A tensor on its way into a container, and whom to ask between parts of it.
struct Encoded<'a, 'l> {
    tensor: Tensor,
    asks: &'a RefCell<(Look<'l>, Result<()>)>,
}

impl Encoded<'_, '_> {
    /// The bytes; none once the look has said so, for the container is not wanted then.
    fn bytes<T, const N: usize>(&self, values: &[T], bytes: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
        let mut out = Vec::with_capacity(values.len() * N);
        for part in values.chunks(AT_ONCE) {
            let (look, said) = &mut *self.asks.borrow_mut();
            if said.is_ok() {
                *said = look();
            }
            if said.is_err() {
                return Vec::new();
            }
            out.extend(part.iter().flat_map(&bytes));
        }
        out
    }
}

impl View for Encoded<'_, '_> {
    fn dtype(&self) -> Dtype {
        match &self.tensor.data {
            Data::F32(_) => Dtype::F32,
            Data::F64(_) => Dtype::F64,
            Data::I64(_) => Dtype::I64,
            Data::U64(_) => Dtype::U64,
            Data::U8(_) => Dtype::U8,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.tensor.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(match &self.tensor.data {
            Data::F32(v) => self.bytes(v, |v| v.to_le_bytes()),
            Data::F64(v) => self.bytes(v, |v| v.to_le_bytes()),
            Data::I64(v) => self.bytes(v, |v| v.to_le_bytes()),
            Data::U64(v) => self.bytes(v, |v| v.to_le_bytes()),
            Data::U8(v) => return Cow::Borrowed(v),
        })
    }

    fn data_len(&self) -> usize {
        let each = match &self.tensor.data {
            Data::F64(_) | Data::I64(_) | Data::U64(_) => 8,
            Data::F32(_) => 4,
            Data::U8(_) => 1,
        };
        each * self.tensor.data.len()
    }
}

/// The container's bytes: the same tensors and metadata give the same bytes.
///
/// One array more, `checksum`, holds the CRC-32 of the whole file, its own eight bytes taken as 0.
pub(super) fn encode(metadata: &Value, mut tensors: Tensors, look: Look<'_>) -> Result<Vec<u8>> {
    if tensors.insert(CHECKSUM.to_owned(), Tensor::counts(vec![0])).is_some() {
        return Err(bad(format!("{CHECKSUM:?} is no name of an array")));
    }
    let asks = RefCell::new((look, Ok(())));
    let views = tensors.into_iter().map(|(name, tensor)| (name, Encoded { tensor, asks: &asks }));
    // Which map it is, safetensors says: another one without its standard library.
    let info = [(KEY.to_owned(), metadata.to_string())].into_iter().collect();
    let made = safetensors::serialize(views, Some(info));
    let (look, said) = asks.into_inner();
    said?;
    let mut bytes = made.map_err(|e| bad(e.to_string()))?;
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap_or([0xff; 8]));
    if header > MAX_HEADER {
        return Err(Error::Unsupported(format!(
            "the model's description takes {header} bytes, a file holds at most {MAX_HEADER}: \
             use shorter or fewer class labels"
        )));
    }
    let (_, directory) = SafeTensors::read_metadata(&bytes).map_err(|e| bad(e.to_string()))?;
    let place = directory.info(CHECKSUM).map_or(0, |info| info.data_offsets.0);
    let mut sum = Hasher::new();
    for part in bytes.chunks(8 * AT_ONCE) {
        sum.update(part);
        look()?;
    }
    let sum = u64::from(sum.finalize());
    bytes[8 + header as usize + place..][..8].copy_from_slice(&sum.to_le_bytes());
    Ok(bytes)
}

/// Reads a container of exactly `len` bytes: its metadata, its tensors, and whether it has a
/// checksum, which then is right.
///
/// # Errors
/// `Format` for anything that is not exactly valid, `OutOfMemory`.
pub(super) fn decode(from: impl Read, len: u64) -> Result<(Value, Tensors, bool)> {
    let mut from = Summed { from, sum: Hasher::new() };
    let mut directory = Directory::read(&mut from, len)?;
    let mut tensors = directory.values(&mut from)?;
    let summed = match tensors.remove(CHECKSUM) {
        None => false,
        Some(tensor) if tensor == Tensor::counts(vec![from.sum.finalize().into()]) => true,
        Some(_) => return Err(bad("the checksum is wrong: the file is damaged")),
    };
    Ok((std::mem::take(&mut directory.metadata), tensors, summed))
}

/// Sums what is read.
struct Summed<R> {
    from: R,
    sum: Hasher,
}

impl<R: Read> Summed<R> {
    /// Reads the checksum, in whose place there were zeros when it was made.
    fn own_sum(&mut self, info: &TensorInfo) -> Result<Tensor> {
        if info.dtype != Dtype::U64 || info.shape != [1] {
            return Err(bad(format!("tensor {CHECKSUM:?}")));
        }
        let mut sum = [0; 8];
        read(&mut self.from, &mut sum)?;
        self.sum.update(&[0; 8]);
        Ok(Tensor::counts(vec![u64::from_le_bytes(sum)]))
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.from.read(into)?;
        self.sum.update(&into[..count]);
        Ok(count)
    }
}

/// The header of a container: what is in it, before any value is read.
pub(super) struct Directory {
    pub(super) metadata: Value,
    tensors: Metadata,
}

impl Directory {
    /// Reads the header of a container of exactly `len` bytes.
    pub(super) fn read(mut from: impl Read, len: u64) -> Result<Self> {
        let mut prefix = [0; 8];
        read(&mut from, &mut prefix)?;
        let header_len = u64::from_le_bytes(prefix);
        if header_len > MAX_HEADER || header_len > len.saturating_sub(8) {
            return Err(bad(format!("header of {header_len} bytes in a file of {len}")));
        }
        let mut header = try_vec("header", header_len as usize, 0)?;
        read(&mut from, &mut header)?;
        let text = std::str::from_utf8(&header).map_err(|_| bad("header is not UTF-8"))?;
        if !text.starts_with('{') {
            return Err(bad("header is not a JSON object"));
        }
        let tree = strict::parse("header", text)?;
        check_keys(&tree)?;
        let tensors: Metadata = serde_json::from_value(tree).map_err(|e| bad(e.to_string()))?;
        if (8 + header_len).checked_add(tensors.data_len() as u64) != Some(len) {
            return Err(bad(format!("tensors of {} bytes in a file of {len}", tensors.data_len())));
        }
        let metadata = match tensors.metadata() {
            Some(map) if map.len() == 1 && map.contains_key(KEY) => strict::parse(KEY, &map[KEY])?,
            _ => return Err(bad(format!("metadata must have the one key {KEY:?}"))),
        };
        Ok(Self { metadata, tensors })
    }

    /// Reads the values that follow the header.
    fn values<R: Read>(&self, mut from: &mut Summed<R>) -> Result<Tensors> {
        let mut tensors = Tensors::new();
        for name in self.tensors.offset_keys() {
            let info = self.tensors.info(&name).ok_or_else(|| bad("lost tensor"))?;
            if name == CHECKSUM {
                tensors.insert(name, from.own_sum(info)?);
                continue;
            }
            // The product was checked by `Metadata` and the bytes exist: `data_len` fits the file.
            let count = info.shape.iter().product();
            let data = match info.dtype {
                Dtype::F32 => Data::F32(read_values(&mut from, count, f32::from_le_bytes)?),
                Dtype::F64 => Data::F64(read_values(&mut from, count, f64::from_le_bytes)?),
                Dtype::I64 => Data::I64(read_values(&mut from, count, i64::from_le_bytes)?),
                Dtype::U64 => Data::U64(read_values(&mut from, count, u64::from_le_bytes)?),
                Dtype::U8 => Data::U8(read_values(&mut from, count, u8::from_le_bytes)?),
                other => return Err(bad(format!("tensor {name:?} of type {other}"))),
            };
            tensors.insert(name, Tensor { shape: info.shape.clone(), data });
        }
        Ok(tensors)
    }
}

/// Every tensor is described by just these keys.
fn check_keys(header: &Value) -> Result<()> {
    for (name, entry) in header.as_object().into_iter().flatten() {
        let known = |key: &String| ["dtype", "shape", "data_offsets"].contains(&key.as_str());
        match entry.as_object() {
            Some(_) if name == "__metadata__" => {}
            Some(entry) if entry.keys().all(known) => {}
            _ => return Err(bad(format!("entry {name:?} of the header"))),
        }
    }
    Ok(())
}

fn read(from: &mut impl Read, into: &mut [u8]) -> Result<()> {
    from.read_exact(into).map_err(|e| bad(format!("cannot be read to the end ({e})")))
}

fn read_values<T: Clone + Default, const SIZE: usize>(
    from: &mut impl Read,
    count: usize,
    decode: fn([u8; SIZE]) -> T,
) -> Result<Vec<T>> {
    let mut values = try_vec("model", count, T::default())?;
    let mut buffer = [0u8; CHUNK];
    for chunk in values.chunks_mut(CHUNK / SIZE) {
        let bytes = &mut buffer[..chunk.len() * SIZE];
        read(from, bytes)?;
        for (value, bytes) in chunk.iter_mut().zip(bytes.as_chunks::<SIZE>().0) {
            *value = decode(*bytes);
        }
    }
    Ok(values)
}
