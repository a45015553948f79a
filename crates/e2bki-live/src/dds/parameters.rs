//! Parameters as `ros2 param` lists, reads and sets them. ros2-client has such services of its own, which do not understand
//! all middlewares.

use std::sync::Arc;

use ros2_client::{Message, Name, Node, QosProfile, Server, ServiceMapping, ServiceTypeName};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::parameters::{PARAMETERS, Parameter, Value};

/// Types of values, by the numbers of `rcl_interfaces/ParameterType`.
const NOT_SET: u8 = 0;
const INTEGER: u8 = 2;
const DOUBLE: u8 = 3;
const INTEGERS: u8 = 7;
const DOUBLES: u8 = 8;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct ValueMessage {
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
struct Names {
    names: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ValueList {
    values: Vec<ValueMessage>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KindList {
    kinds: Vec<u8>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Named {
    name: String,
    value: ValueMessage,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct NamedList {
    parameters: Vec<Named>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Outcome {
    successful: bool,
    reason: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OutcomeList {
    results: Vec<Outcome>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Prefixes {
    prefixes: Vec<String>,
    depth: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Listing {
    names: Vec<String>,
    prefixes: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Range {
    from: f64,
    to: f64,
    step: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct IntegerRange {
    from: i64,
    to: i64,
    step: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Descriptor {
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
struct DescriptorList {
    descriptors: Vec<Descriptor>,
}

macro_rules! messages {
    ($($name:ident),*) => { $(impl Message for $name {})* };
}
messages!(Names, ValueList, KindList, NamedList, OutcomeList, Prefixes, Listing, DescriptorList);

fn known(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.name == name)
}

pub(super) struct ParameterServices {
    list: Server<Prefixes, Listing>,
    get: Server<Names, ValueList>,
    set: Server<NamedList, OutcomeList>,
    kinds: Server<Names, KindList>,
    describe: Server<Names, DescriptorList>,
    inputs: Arc<Inputs>,
}

impl ParameterServices {
    pub(super) fn new(
        node: &mut Node,
        name: &str,
        (mapping, qos): (ServiceMapping, &QosProfile),
        inputs: Arc<Inputs>,
    ) -> Result<Self> {
        Ok(Self {
            list: server(node, name, "list_parameters", "ListParameters", mapping, qos)?,
            get: server(node, name, "get_parameters", "GetParameters", mapping, qos)?,
            set: server(node, name, "set_parameters", "SetParameters", mapping, qos)?,
            kinds: server(node, name, "get_parameter_types", "GetParameterTypes", mapping, qos)?,
            describe: server(node, name, "describe_parameters", "DescribeParameters", mapping, qos)?,
            inputs,
        })
    }

    pub(super) fn answer(&self) {
        let values = || self.inputs.parameters.values();
        serve(&self.list, |Prefixes { prefixes, .. }| {
            let wanted = |name: &str| prefixes.is_empty() || prefixes.iter().any(|prefix| prefix == name);
            let names = PARAMETERS.iter().filter(|p| wanted(p.name)).map(|p| p.name.to_string()).collect();
            Listing { names, prefixes: Vec::new() }
        });
        serve(&self.get, |Names { names }| ValueList {
            values: names.iter().map(|name| ValueMessage::of(values().get(name))).collect(),
        });
        serve(&self.kinds, |Names { names }| KindList {
            kinds: names.iter().map(|name| ValueMessage::of(values().get(name)).kind).collect(),
        });
        serve(&self.set, |NamedList { parameters }| {
            let one = |Named { name, value }: &Named| {
                let value = value.value().ok_or_else(|| format!("`{name}` takes numbers"));
                let done = value.and_then(|value| self.inputs.parameters.set(name, &value));
                Outcome { successful: done.is_ok(), reason: done.err().unwrap_or_default() }
            };
            OutcomeList { results: parameters.iter().map(one).collect() }
        });
        serve(&self.describe, |Names { names }| {
            let one = |name: &String| {
                let kind = ValueMessage::of(values().get(name)).kind;
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
        });
    }
}

fn server<Q: Message + Clone + 'static, A: Message + 'static>(
    node: &mut Node,
    name: &str,
    base: &str,
    kind: &str,
    mapping: ServiceMapping,
    qos: &QosProfile,
) -> Result<Server<Q, A>> {
    let refused =
        |error: &dyn std::fmt::Display| Error::Network(format!("cannot offer the service /{name}/{base}: {error}"));
    let full = Name::new(&format!("/{name}"), base).map_err(|e| refused(&e))?;
    let kind = ServiceTypeName::new("rcl_interfaces", kind);
    node.create_server(mapping, &full, &kind, qos.clone(), qos.clone()).map_err(|e| refused(&e))
}

fn serve<Q: Message + 'static, A: Message + 'static>(server: &Server<Q, A>, answer: impl Fn(Q) -> A) {
    while let Ok(Some((id, request))) = server.receive_request() {
        // Who asked may have gone away.
        server.send_response(id, answer(request)).ok();
    }
}
