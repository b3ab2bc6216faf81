//! Model files: round trips, and files that are damaged or made with intent (T40 to T42).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::time::{Duration, Instant};

use budgetsvm::error::Error;
use budgetsvm::kernel::AnyKernel;
use budgetsvm::model::persist::{AnySaved, Labels, Parts, Saved};
use serde_json::{Value, json};

fn sample(labels: Labels, outputs: usize) -> Saved<f32> {
    let terms = 3;
    Saved {
        kernel: AnyKernel::Gaussian { gamma: 0.1 + 0.2 },
        machines: vec![Parts {
            origin: vec![1.0, -2.5],
            centers: (0..terms * 2).map(|i| i as f32 * 0.3).collect(),
            coef: (0..terms * outputs).map(|i| i as f64 / 7.0 - 0.2).collect(),
            intercept: vec![0.1; outputs],
            seen: 12345,
            steps: 6,
        }],
        labels,
        estimator: json!({"kind": "BudgetSVC", "params": {"C": 1.0}}),
        feature_names: Some(vec!["länge".into(), "b".into()]),
        history: vec![("primal".into(), vec![1.5, f64::NAN]), ("time".into(), vec![0.1, 0.2])],
    }
}

/// The bytes with this header in place of theirs.
fn with_header(bytes: &[u8], header: &str) -> Vec<u8> {
    let old = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend(header.as_bytes());
    out.extend(&bytes[8 + old..]);
    out
}

fn header(bytes: &[u8]) -> String {
    let len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    String::from_utf8(bytes[8..8 + len].to_vec()).unwrap()
}

fn refused(what: &str, bytes: &[u8]) {
    let start = Instant::now();
    match AnySaved::from_bytes(bytes) {
        Err(Error::Format(_) | Error::OutOfMemory { .. }) => {}
        other => panic!("{what}: {other:?}"),
    }
    assert!(start.elapsed() < Duration::from_millis(100), "{what} took {:?}", start.elapsed());
}

#[test]
fn round_trips_bit_for_bit() {
    let names = ["a", "b", "ü"].map(String::from).to_vec();
    for (labels, outputs) in [
        (Labels::None, 1),
        (Labels::None, 2),
        (Labels::Int(vec![-3, 7]), 1),
        (Labels::Uint(vec![0, 1, u64::MAX]), 3),
        (Labels::Float(vec![-0.5, 1e300]), 1),
        (Labels::Bool(vec![false, true]), 1),
        (Labels::Text(names), 3),
    ] {
        let mut saved = sample(labels, outputs);
        saved.history.remove(0); // NaN is not equal to itself
        let any = AnySaved::F32(saved.clone());
        let bytes = any.to_bytes().unwrap();
        assert_eq!(bytes, any.to_bytes().unwrap(), "the same model gives the same bytes");
        assert_eq!(AnySaved::from_bytes(&bytes).unwrap(), any);
        safetensors::SafeTensors::deserialize(&bytes).expect("any safetensors reader opens it");
        let double = AnySaved::F64(Saved {
            kernel: AnyKernel::Polynomial { gamma: 1.0 / 3.0, coef0: -0.0, degree: 3 },
            machines: vec![Parts {
                origin: vec![1.0 / 3.0],
                centers: vec![],
                coef: vec![],
                intercept: vec![0.0; outputs],
                seen: u64::MAX,
                steps: 0,
            }],
            labels: saved.labels,
            estimator: json!({}),
            feature_names: None,
            history: vec![],
        });
        assert_eq!(AnySaved::from_bytes(&double.to_bytes().unwrap()).unwrap(), double);
    }
}

#[test]
fn independent_machines_round_trip() {
    let one = sample(Labels::None, 1).machines.remove(0);
    let mut saved = sample(Labels::Int(vec![1, 2, 3]), 3);
    saved.history.clear();
    let mut small = one.clone();
    small.centers.truncate(2);
    small.coef.truncate(1);
    saved.machines = vec![one.clone(), small, one];
    let any = AnySaved::F32(saved);
    assert_eq!(AnySaved::from_bytes(&any.to_bytes().unwrap()).unwrap(), any);
}

#[test]
fn truncated_at_every_byte() {
    let bytes = AnySaved::F32(sample(Labels::Int(vec![0, 1]), 1)).to_bytes().unwrap();
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
fn any_flipped_byte_is_refused_or_another_valid_model() {
    let bytes = AnySaved::F32(sample(Labels::Int(vec![0, 1]), 1)).to_bytes().unwrap();
    for at in 0..bytes.len() {
        for mask in [0x01, 0x80, 0xff] {
            let mut flipped = bytes.clone();
            flipped[at] ^= mask;
            match AnySaved::from_bytes(&flipped) {
                Ok(AnySaved::F32(saved)) => saved.check().unwrap(),
                Ok(AnySaved::F64(saved)) => saved.check().unwrap(),
                Err(Error::Format(_) | Error::OutOfMemory { .. }) => {}
                Err(other) => panic!("byte {at}: {other}"),
            }
        }
    }
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
    let bytes = AnySaved::F32(sample(Labels::Int(vec![0, 1]), 1)).to_bytes().unwrap();
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
        (vec!["format_version"], json!(2)),
        (vec!["format_version"], json!("1")),
        (vec!["format_version"], Value::Null),
        (vec!["library_version"], Value::Null),
        (vec!["unknown"], json!(1)),
        (vec!["kernel", "name"], json!("callable")),
        (vec!["kernel", "name"], json!("poly")),
        (vec!["kernel", "gamma"], json!(0.0)),
        (vec!["kernel", "gamma"], json!(-1.0)),
        (vec!["kernel", "gamma"], json!("1")),
        (vec!["kernel", "gamma"], Value::Null),
        (vec!["kernel", "degree"], json!(3)),
        (vec!["kernel", "code"], json!("import os")),
        (vec!["machines"], json!([])),
        (vec!["machines"], json!([{"seen": 1, "steps": 1}, {"seen": 1, "steps": 1}])),
        (vec!["machines"], json!([{"seen": -1, "steps": 1}])),
        (vec!["machines"], json!(1_000_000_000)),
        (vec!["labels"], json!({"text": ["a", "b", "c"]})),
        (vec!["labels"], json!({"text": ["b", "a"]})),
        (vec!["labels"], json!({"text": ["a", "a"]})),
        (vec!["labels"], json!({"text": [1, 2]})),
        (vec!["labels"], json!({"bool": [true]})),
        (vec!["labels"], json!("none")),
        (vec!["labels"], json!("objects")),
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
    for at in 0..4 {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut saved = sample(Labels::Float(vec![0.0, 1.0]), 1);
            let machine = &mut saved.machines[0];
            match at {
                0 => machine.origin[1] = bad as f32,
                1 => machine.centers[3] = bad as f32,
                2 => machine.coef[0] = bad,
                _ => machine.intercept[0] = bad,
            }
            assert!(matches!(AnySaved::F32(saved).to_bytes(), Err(Error::Format(_))));
        }
    }
    // The same in a file that another program wrote.
    let bytes = AnySaved::F32(sample(Labels::Float(vec![0.0, 1.0]), 1)).to_bytes().unwrap();
    let tree: Value = serde_json::from_str(&header(&bytes)).unwrap();
    let data = 8 + header(&bytes).len();
    for name in ["origin", "centers", "coef", "intercept", "classes", "history.time"] {
        let offset = tree[name]["data_offsets"][0].as_u64().unwrap() as usize + data;
        let mut mutant = bytes.clone();
        if tree[name]["dtype"] == "F32" {
            mutant[offset..offset + 4].copy_from_slice(&f32::INFINITY.to_le_bytes());
        } else {
            mutant[offset..offset + 8].copy_from_slice(&f64::INFINITY.to_le_bytes());
        }
        refused(name, &mutant);
    }
}

#[test]
fn files_are_whole_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let any = AnySaved::F32(sample(Labels::Int(vec![0, 1]), 1));
    assert!(matches!(
        any.save(&folder.path().join("model.pickle")),
        Err(Error::InvalidParam { name: "path", .. })
    ));
    any.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(AnySaved::load(&path).unwrap().to_bytes().unwrap(), bytes);
    // A model that cannot be saved leaves the file as it was, and nothing beside it.
    let mut broken = sample(Labels::Int(vec![0, 1]), 1);
    broken.machines[0].coef[0] = f64::NAN;
    AnySaved::F32(broken).save(&path).unwrap_err();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let missing = folder.path().join("no/such/model.safetensors");
    assert!(matches!(any.save(&missing), Err(Error::Io { .. })));
    assert!(matches!(AnySaved::load(&missing), Err(Error::Io { .. })));
    assert!(matches!(AnySaved::load(folder.path()), Err(Error::Io { .. })));
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
    AnySaved::F32(sample(Labels::Int(vec![0, 1]), 1)).save(&link).unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"precious");
    let mode = std::fs::metadata(&link).unwrap().permissions().mode() & 0o777;
    let other = folder.path().join("other");
    std::fs::write(&other, b"").unwrap();
    assert_eq!(mode, std::fs::metadata(&other).unwrap().permissions().mode() & 0o777);
}
