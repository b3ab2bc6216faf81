//! Model files: round trips, and files that are damaged or made with intent (T40 to T42).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use budgetsvm::data::{Gathered, Rows};
use budgetsvm::error::Error;
use budgetsvm::estimator::{AnyMachine, Machine, Passes, State};
use budgetsvm::kernel::AnyKernel;
use budgetsvm::model::persist::{Archive, Data, Tensor};
use budgetsvm::model::{AnyModel, KernelModel, LinearModel, Model, PairwiseModel, Support};
use ndarray::Array2;
use serde_json::{Value, json};

const KERNEL: AnyKernel = AnyKernel::Gaussian { gamma: 0.1 + 0.2 };

fn expansion(terms: usize, outputs: usize) -> KernelModel<f32> {
    let centers = (0..terms * 2).map(|i| i as f32 * 0.3).collect();
    let coef: Vec<f64> = (0..terms * outputs).map(|i| i as f64 / 7.0 - 0.2).collect();
    let origin = vec![1.0, -2.5];
    KernelModel::from_parts(KERNEL, origin, (centers, 2), &coef, vec![0.1; outputs]).unwrap()
}

fn machine(parts: Vec<KernelModel<f32>>) -> AnyMachine {
    let passes = vec![Passes { seen: 12345, steps: 6 }; parts.len()];
    AnyMachine::F32(Machine::new(Model::of_expansions(parts), State::Passes(passes)))
}

fn archive(machine: &AnyMachine) -> Archive {
    let names = br#"["l\u00e4nge","b"]"#.to_vec();
    let names = Tensor { shape: vec![names.len()], data: Data::U8(names) };
    Archive {
        estimator: json!({"kind": "BudgetSVC", "params": {"C": 1.0}, "n_features": 2, "labels": ["int64", [0, 1]]}),
        arrays: [
            ("feature_names".to_owned(), names),
            ("history.primal".to_owned(), Tensor::doubles(vec![1.5, f64::NAN])),
            ("history.time".to_owned(), Tensor::doubles(vec![0.1, 0.2])),
        ]
        .into(),
        machine: Some(machine.to_section(&mut || Ok(())).unwrap()),
    }
}

fn sample() -> Vec<u8> {
    archive(&machine(vec![expansion(3, 1)])).into_bytes().unwrap()
}

/// The machine in these bytes, checked in every part.
fn read(bytes: &[u8]) -> Result<Option<AnyMachine>, Error> {
    Archive::from_bytes(bytes)?.machine.map(AnyMachine::from_section).transpose()
}

/// The bytes with this header in place of theirs.
fn with_header(bytes: &[u8], header: &str) -> Vec<u8> {
    let old = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend(header.as_bytes());
    out.extend(&bytes[8 + old..]);
    summed(out)
}

/// The bytes with the checksum that they should have, where there is a place for one.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    let Ok((len, directory)) = safetensors::SafeTensors::read_metadata(&bytes) else {
        return bytes;
    };
    let Some(info) = directory.info("checksum").filter(|info| info.shape == [1]) else {
        return bytes;
    };
    let first = 8 + len + info.data_offsets.0;
    let Some(place) = bytes.get_mut(first..first + 8) else { return bytes };
    place.fill(0);
    let sum = u64::from(crc32fast::hash(&bytes));
    bytes[first..first + 8].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn header(bytes: &[u8]) -> String {
    let len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    String::from_utf8(bytes[8..8 + len].to_vec()).unwrap()
}

/// Counts the bytes that the thread that asks has allocated in all.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: it is the system's allocator, and counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|all| all.set(all.get().saturating_add(layout.size())));
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// What a refusal may allocate, one after another, beside so much for each byte of the file: less
/// than what a hostile length would have it make. Time is left to who runs the tests.
const LITTLE: usize = 1 << 20;
const EACH: usize = 100;

fn refused(what: &str, bytes: &[u8]) {
    let before = ALLOCATED.get();
    match read(bytes) {
        Err(Error::Format(_) | Error::OutOfMemory { .. }) => {}
        other => panic!("{what}: {other:?}"),
    }
    let allocated = ALLOCATED.get() - before;
    assert!(allocated <= LITTLE + EACH * bytes.len(), "{what} allocated {allocated} bytes");
}

#[test]
fn every_model_round_trips_bit_for_bit() {
    let x = Array2::from_shape_fn((9, 2), |(i, j)| (i as f32 - 3.0) * 0.7 + j as f32);
    let rows = Array2::from_shape_fn((4, 2), |(i, j)| (i * 2 + j) as f32 / 3.0);
    let sparse = Gathered::Csr {
        values: vec![0.5, -1.0, 2.0],
        columns: vec![0, 1, 0],
        starts: vec![0, 1, 2, 2, 3],
        n_cols: 2,
    };
    let coef = Array2::from_shape_fn((2, 4), |(i, j)| (i + 2 * j) as f64 / 3.0 - 1.0);
    let pairs = |support| {
        PairwiseModel::new(support, vec![1, 2, 1], coef.clone(), vec![0.1, 0.2, 0.3]).unwrap()
    };
    let poly = AnyKernel::Polynomial { gamma: 1.0 / 3.0, coef0: -0.0, degree: 3 };
    let of_rows = |rows: Gathered<f32>| {
        let coef: Vec<f64> = (0..8).map(f64::from).collect();
        KernelModel::of_rows(poly, Vec::new(), rows, &coef, vec![0.5, -0.5]).unwrap()
    };
    let none = KernelModel::from_parts(poly, vec![], (vec![], 2), &[], vec![0.25]).unwrap();
    let models: Vec<Model<f32>> = vec![
        Model::Expansion(expansion(3, 2).into()),
        Model::Expansion(none.into()),
        Model::Expansion(of_rows(Gathered::Dense(rows.clone())).into()),
        Model::Expansion(of_rows(sparse.clone()).into()),
        Model::of_expansions(vec![expansion(3, 1), expansion(1, 1), expansion(40, 1)]),
        Model::Pairwise(pairs(Support::Vectors(KERNEL, Gathered::Dense(rows))).into()),
        Model::Pairwise(pairs(Support::Vectors(KERNEL, sparse)).into()),
        Model::Pairwise(pairs(Support::Columns(vec![1, 0, 1, 1], 2)).into()),
        Model::Linear(LinearModel::new(vec![1.0, 2.0, 3.0, 4.0], vec![0.5, 0.6]).unwrap().into()),
    ];
    for model in models {
        let kind = model.kind();
        let any = AnyMachine::F32(Machine::new(model.clone(), State::None));
        let bytes = archive(&any).into_bytes().unwrap();
        assert_eq!(bytes, archive(&any).into_bytes().unwrap(), "{kind}: the same bytes");
        safetensors::SafeTensors::deserialize(&bytes).expect("any safetensors reader opens it");
        let again = read(&bytes).unwrap().unwrap();
        assert_eq!(bytes, archive(&again).into_bytes().unwrap(), "{kind}: nothing is lost");
        let AnyMachine::F32(again) = again else { panic!("{kind}: precision") };
        let rows = Rows::Dense(x.view());
        let values = [model.decision(&rows, 1).unwrap(), again.decide(&rows, 1).unwrap()];
        assert_eq!(values[0], values[1], "{kind}: decisions");
    }
}

#[test]
fn what_stands_beside_the_machine_round_trips() {
    let mut whole = archive(&machine(vec![expansion(3, 1)]));
    whole.arrays.remove("history.primal"); // NaN is not equal to itself
    let bytes = whole.clone().into_bytes().unwrap();
    assert_eq!(Archive::from_bytes(&bytes).unwrap(), whole);
    let mut stream = Vec::new();
    whole.clone().write(&mut stream).unwrap();
    assert_eq!(Archive::read(stream.as_slice()).unwrap(), whole);
    let bare = Archive { machine: None, ..whole };
    let bytes = bare.clone().into_bytes().unwrap();
    assert_eq!(Archive::from_bytes(&bytes).unwrap(), bare);
}

#[test]
fn truncated_at_every_byte() {
    let bytes = sample();
    for len in 0..bytes.len() {
        refused(&format!("first {len} bytes"), &bytes[..len]);
    }
    for extra in [1, 8, 4096] {
        let longer = [bytes.clone(), vec![0; extra]].concat();
        refused("trailing bytes", &longer);
    }
    refused("a zip after it", &[bytes.clone(), b"PK\x05\x06".to_vec()].concat());
    refused("a zip before it", &[b"PK\x03\x04".to_vec(), bytes.clone()].concat());
    refused("a pickle", b"\x80\x05\x95\x1a\x00\x00\x00\x00\x00\x00\x00cos\nsystem\n(S'true'\ntR.");
    for len in [u64::MAX, u64::MAX - 7, 1 << 63, 1 << 40, (1 << 20) + 1, 0, 1] {
        let mut lying = bytes.clone();
        lying[..8].copy_from_slice(&len.to_le_bytes());
        refused(&format!("header of {len}"), &lying);
    }
}

#[test]
fn any_flipped_bit_is_refused() {
    let bytes = sample();
    for at in 0..bytes.len() {
        for mask in (0..8).map(|bit| 1 << bit).chain([0xff]) {
            let mut flipped = bytes.clone();
            flipped[at] ^= mask;
            refused(&format!("byte {at} with {mask:#x}"), &flipped);
        }
    }
}

#[test]
fn behind_a_right_checksum_is_another_valid_model_or_none() {
    let bytes = sample();
    for at in 0..bytes.len() {
        for mask in [0x01, 0x80, 0xff] {
            let mut flipped = bytes.clone();
            flipped[at] ^= mask;
            match read(&summed(flipped)) {
                Ok(_) => {}
                Err(Error::Format(_) | Error::OutOfMemory { .. }) => {}
                Err(other) => panic!("byte {at}: {other}"),
            }
        }
    }
}

#[test]
fn json_that_is_small_as_text_and_large_in_memory_is_refused() {
    for part in ["{\"\":0},", "{},", "[],", "[[]],"] {
        let text = format!("[{}0]", part.repeat((1 << 20) / part.len() - 200));
        let tree = json!({"__metadata__": {"budgetsvm": text}}).to_string();
        refused(&format!("{part} in the metadata"), &with_header(&sample(), &tree));
        let header = format!("{{\"a\":{text}}}");
        refused(&format!("{part} in the header"), &with_header(&sample(), &header));
    }
    let mut many = archive(&machine(vec![expansion(3, 1)]));
    let names = format!("[{}{{}}]", "{},".repeat(1 << 20)).into_bytes();
    let shape = vec![names.len()];
    many.arrays.insert("feature_names".into(), Tensor { shape, data: Data::U8(names) });
    refused("names that are objects", &many.into_bytes().unwrap());
}

/// Sets, or with `Null` removes, one entry of the header.
fn edit(tree: &Value, path: &[&str], value: Value) -> Value {
    let mut tree = tree.clone();
    let mut at = &mut tree;
    for key in &path[..path.len() - 1] {
        at = at.get_mut(*key).unwrap();
    }
    let last = path[path.len() - 1];
    if value.is_null() {
        at.as_object_mut().unwrap().remove(last);
    } else {
        at[last] = value;
    }
    tree
}

#[test]
fn two_hundred_mutants_of_the_header() {
    let bytes = sample();
    let tree: Value = serde_json::from_str(&header(&bytes)).unwrap();
    let names: Vec<String> =
        tree.as_object().unwrap().keys().filter(|k| *k != "__metadata__").cloned().collect();
    let mut count = 0;
    let mut tried = |what: String, header: &str| {
        refused(&what, &with_header(&bytes, header));
        count += 1;
    };
    let huge = u64::MAX;
    for name in &names {
        for (key, value) in [
            ("shape", json!([])),
            ("shape", json!([huge, huge])),
            ("shape", json!([1u64 << 32, 1u64 << 32])),
            ("shape", json!([huge])),
            ("shape", json!([-1])),
            ("shape", json!([1.5])),
            ("shape", json!("3")),
            ("shape", json!([1_000_000_000, 1])),
            ("data_offsets", json!([0, huge])),
            ("data_offsets", json!([huge, 0])),
            ("data_offsets", json!([0, 4])),
            ("data_offsets", json!([8, 4])),
            ("data_offsets", json!([0])),
            ("dtype", json!("F16")),
            ("dtype", json!("BOOL")),
            ("dtype", json!("O")),
            ("dtype", json!(7)),
            ("extra", json!(1)),
            ("dtype", Value::Null),
            ("shape", Value::Null),
            ("data_offsets", Value::Null),
        ] {
            let mutant = edit(&tree, &[name, key], value.clone());
            tried(format!("{name}.{key} = {value}"), &mutant.to_string());
        }
        if !name.starts_with("machine.") {
            continue; // what stands beside the machine is the class's business
        }
        tried(format!("no {name}"), &edit(&tree, &[name], Value::Null).to_string());
        let twice = format!(r#"{{"{name}": {}, {}"#, tree[name], &tree.to_string()[1..]);
        tried(format!("two {name}"), &twice);
        let renamed = tree.to_string().replace(&format!("\"{name}\""), "\"centre\"");
        tried(format!("{name} renamed"), &renamed);
    }
    let inner: Value =
        serde_json::from_str(tree["__metadata__"]["budgetsvm"].as_str().unwrap()).unwrap();
    let mut with_meta = |what: String, meta: &str| {
        let mutant = edit(&tree, &["__metadata__", "budgetsvm"], json!(meta));
        tried(what, &mutant.to_string());
    };
    for (path, value) in [
        (vec!["format"], json!("pickle")),
        (vec!["format_version"], json!(1)),
        (vec!["format_version"], json!(3)),
        (vec!["format_version"], json!("1")),
        (vec!["format_version"], Value::Null),
        (vec!["library_version"], Value::Null),
        (vec!["unknown"], json!(1)),
        (vec!["machine"], json!([])),
        (vec!["machine"], json!("none")),
        (vec!["machine"], Value::Null),
        (vec!["machine", "unknown"], json!(1)),
        (vec!["machine", "precision"], json!("float64")),
        (vec!["machine", "precision"], json!("float16")),
        (vec!["machine", "precision"], Value::Null),
        (vec!["machine", "passes"], json!([])),
        (vec!["machine", "passes"], json!([{"seen": -1, "steps": 1}])),
        (vec!["machine", "passes"], json!([{"seen": 1}])),
        (vec!["machine", "passes"], json!(1_000_000_000)),
        (vec!["machine", "asset"], json!({})),
        (vec!["machine", "streams"], json!(1)),
        (vec!["machine", "local"], json!({})),
        (vec!["machine", "model"], json!({})),
        (vec!["machine", "model", "kind"], json!("pickle")),
        (vec!["machine", "model", "kind"], json!("linear")),
        (vec!["machine", "model", "kind"], json!("each")),
        (vec!["machine", "model", "expansion", "unknown"], json!(1)),
        (vec!["machine", "model", "expansion", "n_features"], json!(3)),
        (vec!["machine", "model", "expansion", "n_features"], json!(0)),
        (vec!["machine", "model", "expansion", "n_features"], json!(-2)),
        (vec!["machine", "model", "expansion", "n_features"], json!(u64::MAX)),
        (vec!["machine", "model", "expansion", "rows"], json!([3, 2])),
        (vec!["machine", "model", "expansion", "rows"], json!(["csr", 2])),
        (vec!["machine", "model", "expansion", "kernel", "name"], json!("callable")),
        (vec!["machine", "model", "expansion", "kernel", "name"], json!("poly")),
        (vec!["machine", "model", "expansion", "kernel", "gamma"], json!(0.0)),
        (vec!["machine", "model", "expansion", "kernel", "gamma"], json!(-1.0)),
        (vec!["machine", "model", "expansion", "kernel", "gamma"], json!("1")),
        (vec!["machine", "model", "expansion", "kernel", "gamma"], Value::Null),
        (vec!["machine", "model", "expansion", "kernel", "degree"], json!(3)),
        (vec!["machine", "model", "expansion", "kernel", "code"], json!("import os")),
        (vec!["estimator"], json!([])),
        (vec!["estimator"], json!("BudgetSVC")),
    ] {
        let mutant = edit(&inner, &path, value.clone());
        with_meta(format!("{path:?} = {value}"), &mutant.to_string());
    }
    for meta in ["", "{}", "null", "[", "{\"format\": \"budgetsvm\"}", &"[".repeat(100_000)] {
        with_meta(format!("metadata {:.20}", meta), meta);
    }
    let twice = format!(r#"{{"format_version": 1, {}"#, &inner.to_string()[1..]);
    with_meta("metadata with two versions".into(), &twice);
    for text in ["", "{", "{}", "[]", " {}", "{\"__metadata__\": {}}", "\u{0}"] {
        tried(format!("header {text:?}"), text);
    }
    tried("deep".into(), &format!("{{\"a\":{}", "[".repeat(1 << 19)));
    assert!(count >= 200, "{count} mutants");
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    // A file that another program wrote.
    let bytes = sample();
    let tree: Value = serde_json::from_str(&header(&bytes)).unwrap();
    let data = 8 + header(&bytes).len();
    for name in ["origin", "centers", "coef", "intercept", "history.time"] {
        let name = match name {
            "history.time" => name.to_owned(),
            name => format!("machine.model.expansion.{name}"),
        };
        let offset = tree[&name]["data_offsets"][0].as_u64().unwrap() as usize + data;
        let mut mutant = bytes.clone();
        if tree[&name]["dtype"] == "F32" {
            mutant[offset..offset + 4].copy_from_slice(&f32::INFINITY.to_le_bytes());
        } else {
            mutant[offset..offset + 8].copy_from_slice(&f64::INFINITY.to_le_bytes());
        }
        refused(&name, &summed(mutant));
    }
}

#[test]
fn files_are_whole_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let any = || archive(&machine(vec![expansion(3, 1)]));
    assert!(matches!(
        any().save(&folder.path().join("model.pickle"), &mut || Ok(())),
        Err(Error::InvalidParam { name: "path", .. })
    ));
    any().save(&path, &mut || Ok(())).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(Archive::load(&path).unwrap().into_bytes().unwrap(), bytes);
    // A model that cannot be saved leaves the file as it was, and nothing beside it.
    let mut broken = any();
    broken.arrays.insert("values".into(), Tensor::doubles(vec![f64::NAN]));
    broken.save(&path, &mut || Ok(())).unwrap_err();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let missing = folder.path().join("no/such/model.safetensors");
    assert!(matches!(any().save(&missing, &mut || Ok(())), Err(Error::Io { .. })));
    assert!(matches!(Archive::load(&missing), Err(Error::Io { .. })));
    assert!(matches!(Archive::load(folder.path()), Err(Error::Io { .. })));
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_is_replaced_not_followed() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    std::fs::write(&target, b"precious").unwrap();
    let link = folder.path().join("model.safetensors");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    archive(&machine(vec![expansion(3, 1)])).save(&link, &mut || Ok(())).unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"precious");
    let mode = std::fs::metadata(&link).unwrap().permissions().mode() & 0o777;
    let other = folder.path().join("other");
    std::fs::write(&other, b"").unwrap();
    assert_eq!(mode, std::fs::metadata(&other).unwrap().permissions().mode() & 0o777);
}

#[test]
fn the_model_alone_decides_as_the_machine() {
    let machine = machine(vec![expansion(3, 2)]);
    let AnyModel::F32(model) = AnyModel::of_archive(archive(&machine)).unwrap() else { panic!() };
    let AnyMachine::F32(machine) = machine else { panic!() };
    let row = [0.25, -1.5];
    let expected = machine.decide(&Rows::of_one(&row).unwrap(), 1).unwrap();
    let values = model.decide_one(&row, |values| Ok(values.to_vec())).unwrap();
    assert_eq!(expected.as_slice().unwrap(), values);

    let without = Archive { machine: None, ..archive(&AnyMachine::F32(machine)) };
    let error = AnyModel::of_archive(without).unwrap_err();
    assert!(error.to_string().contains("no model"), "{error}");
}
