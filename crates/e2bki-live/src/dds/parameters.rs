//! Parameters as `ros2 param` lists, reads and sets them. ros2-client has such services of its own, which do not understand
//! all middlewares.

use std::sync::Arc;

use ros2_client::{Message, Name, Node, QosProfile, Server, ServiceMapping, ServiceTypeName};

use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::parameter_messages::{
    DescriptorList, KindList, Listing, NamedList, Names, OutcomeList, Prefixes, ValueList, describe, get, kinds, list,
    set,
};

macro_rules! messages {
    ($($name:ident),*) => { $(impl Message for $name {})* };
}
messages!(Names, ValueList, KindList, NamedList, OutcomeList, Prefixes, Listing, DescriptorList);

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
        let inputs = &self.inputs;
        serve(&self.list, list);
        serve(&self.get, |names| get(inputs, names));
        serve(&self.kinds, |names| kinds(inputs, names));
        serve(&self.set, |named| set(inputs, named));
        serve(&self.describe, |names| describe(inputs, names));
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

fn serve<Q: Message + 'static, A: Message + 'static>(server: &Server<Q, A>, answer: impl Fn(&Q) -> A) {
    while let Ok(Some((id, request))) = server.receive_request() {
        // Who asked may have gone away.
        server.send_response(id, answer(&request)).ok();
    }
}
