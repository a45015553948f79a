//! What `ros2 param` asks and is answered, whatever the network.

use serde::{Deserialize, Serialize};

use crate::inputs::Inputs;
use crate::parameters::{PARAMETERS, Parameter, Value};

/// Types of values, by the numbers of `rcl_interfaces/ParameterType`.
const NOT_SET: u8 = 0;
const INTEGER: u8 = 2;
const DOUBLE: u8 = 3;
const INTEGERS: u8 = 7;
const DOUBLES: u8 = 8;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ValueMessage {
    kind: u8,
    flag: bool,
    integer: i64,
    double: f64,
    text: String,
    bytes: Vec<u8>,
    flags: Vec<bool>,
    integers: Vec<i64>,
    doubles: Vec<f64>,
    texts: Vec<String>,
}

impl ValueMessage {
    fn of(value: Option<Value>) -> Self {
        match value {
            None => Self { kind: NOT_SET, ..Self::default() },
            Some(Value::Number(double)) => Self { kind: DOUBLE, double, ..Self::default() },
            Some(Value::Numbers(doubles)) => Self { kind: DOUBLES, doubles, ..Self::default() },
        }
    }

    fn value(&self) -> Option<Value> {
        match self.kind {
            INTEGER => Some(Value::Number(self.integer as f64)),
            DOUBLE => Some(Value::Number(self.double)),
            INTEGERS => Some(Value::Numbers(self.integers.iter().map(|v| *v as f64).collect())),
            DOUBLES => Some(Value::Numbers(self.doubles.clone())),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Names {
    names: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ValueList {
    values: Vec<ValueMessage>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KindList {
    kinds: Vec<u8>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Named {
    name: String,
    value: ValueMessage,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedList {
    parameters: Vec<Named>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Outcome {
    successful: bool,
    reason: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OutcomeList {
    results: Vec<Outcome>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Prefixes {
    prefixes: Vec<String>,
    depth: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Listing {
    names: Vec<String>,
    prefixes: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Range {
    from: f64,
    to: f64,
    step: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct IntegerRange {
    from: i64,
    to: i64,
    step: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Descriptor {
    name: String,
    kind: u8,
    description: String,
    additional_constraints: String,
    read_only: bool,
    dynamic_typing: bool,
    ranges: Vec<Range>,
    integer_ranges: Vec<IntegerRange>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DescriptorList {
    descriptors: Vec<Descriptor>,
}

fn known(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.name == name)
}

pub(crate) fn list(Prefixes { prefixes, .. }: &Prefixes) -> Listing {
    let wanted = |name: &str| prefixes.is_empty() || prefixes.iter().any(|prefix| prefix == name);
    let names = PARAMETERS.iter().filter(|p| wanted(p.name)).map(|p| p.name.to_string()).collect();
    Listing { names, prefixes: Vec::new() }
}

pub(crate) fn get(inputs: &Inputs, Names { names }: &Names) -> ValueList {
    let values = inputs.parameters.values();
    ValueList { values: names.iter().map(|name| ValueMessage::of(values.get(name))).collect() }
}

pub(crate) fn kinds(inputs: &Inputs, Names { names }: &Names) -> KindList {
    let values = inputs.parameters.values();
    KindList { kinds: names.iter().map(|name| ValueMessage::of(values.get(name)).kind).collect() }
}

pub(crate) fn set(inputs: &Inputs, NamedList { parameters }: &NamedList) -> OutcomeList {
    let one = |Named { name, value }: &Named| {
        let value = value.value().ok_or_else(|| format!("`{name}` takes numbers"));
        let done = value.and_then(|value| inputs.parameters.set(name, &value));
        Outcome { successful: done.is_ok(), reason: done.err().unwrap_or_default() }
    };
    OutcomeList { results: parameters.iter().map(one).collect() }
}

pub(crate) fn describe(inputs: &Inputs, Names { names }: &Names) -> DescriptorList {
    let values = inputs.parameters.values();
    let one = |name: &String| {
        let kind = ValueMessage::of(values.get(name)).kind;
        let range = |p: &Parameter| Range { from: p.range[0], to: p.range[1], step: 0.0 };
        Descriptor {
            name: name.clone(),
            kind,
            description: known(name).map_or("", |p| p.meaning).into(),
            additional_constraints: String::new(),
            read_only: false,
            dynamic_typing: false,
            ranges: known(name).filter(|_| kind == DOUBLE).map(range).into_iter().collect(),
            integer_ranges: Vec::new(),
        }
    };
    DescriptorList { descriptors: names.iter().map(one).collect() }
}
