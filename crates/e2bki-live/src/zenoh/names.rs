//! Names as `rmw_zenoh` has them: key expressions of topics and services, and the tokens that make up its graph.

use crate::inputs::Kind;
use crate::outlet::Output;

/// What a type is called, and the hash of its definition (REP 2016), by which versions of it are told apart.
const HASHES: [(&str, &str, &str); 13] = [
    ("sensor_msgs", "PointCloud2", "9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5"),
    ("nav_msgs", "OccupancyGrid", "8d348150c12913a31ee0ec170fbf25089e4745d17035792a1ba94d6f0bc0cfc7"),
    ("grid_map_msgs", "GridMap", "343b0e72887541beda6b035cc053f2d6fffaad9d6dcb2773c15a808dfca31fde"),
    ("vision_msgs", "LabelInfo", "3d37df4015cdf660cc851c51897f2acd957e1ca6205ba0a99aebffb9406b0783"),
    ("diagnostic_msgs", "DiagnosticArray", "5a8a36efb05fb25070fa0fb3810290c0e6cd4862b54a8fb975a1ee8dc55a333e"),
    ("tf2_msgs", "TFMessage", "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"),
    ("std_msgs", "UInt8MultiArray", "5687e861b8d307a5e48b7515467ae7a5fc2daf805bd0ce6d8e9e604bade9f385"),
    ("std_srvs", "Trigger", "eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f"),
    ("rcl_interfaces", "ListParameters", "3e6062bfbb27bfb8730d4cef2558221f51a11646d78e7bb30a1e83afac3aad9d"),
    ("rcl_interfaces", "GetParameters", "bf9803d5c74cf989a5de3e0c2e99444599a627c7ff75f97b8c05b01003675cbc"),
    ("rcl_interfaces", "GetParameterTypes", "da199c878688b3e530bdfe3ca8f74cb9fa0c303101e980a9e8f260e25e1c80ca"),
    ("rcl_interfaces", "SetParameters", "56eed9a67e169f9cb6c1f987bc88f868c14a8fc9f743a263bc734c154015d7e0"),
    ("rcl_interfaces", "DescribeParameters", "845b484d71eb0673dae682f2e3ba3c4851a65a3dcfb97bddd82c5b57e91e4cff"),
];

/// A topic or a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    domain: u16,
    /// Begins with a slash.
    name: String,
    /// As in `sensor_msgs::msg::dds_::PointCloud2_`.
    kind: String,
    hash: String,
}

/// What somebody has of a topic or a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Publisher,
    Subscriber,
    Server,
}

impl Role {
    fn letters(self) -> &'static str {
        match self {
            Self::Publisher => "MP",
            Self::Subscriber => "MS",
            Self::Server => "SS",
        }
    }
}

impl Named {
    pub(super) fn output(domain: u16, output: Output, prefix: &str) -> Self {
        Self::new(domain, &output.topic(prefix), output.kind(), "msg")
    }

    pub(super) fn topic(domain: u16, kind: Kind, name: &str) -> Self {
        Self::new(domain, name, kind.type_name(), "msg")
    }

    pub(super) fn service(domain: u16, name: &str, kind: (&str, &str)) -> Self {
        Self::new(domain, name, kind, "srv")
    }

    fn new(domain: u16, name: &str, (package, base): (&str, &str), of: &str) -> Self {
        let hash = HASHES.iter().find(|known| (known.0, known.1) == (package, base));
        let hash = hash.map_or("TypeHashNotSupported".to_string(), |(_, _, hash)| format!("RIHS01_{hash}"));
        let name = format!("/{}", name.trim_matches('/'));
        Self { domain, name, kind: format!("{package}::{of}::dds_::{base}_"), hash }
    }

    /// Where its messages are put.
    pub(super) fn key(&self) -> String {
        format!("{}/{}/{}/{}", self.domain, self.name.trim_start_matches('/'), self.kind, self.hash)
    }

    /// Where its messages are, whatever version of the type they are of: ROS 2 Humble knows no hashes.
    pub(super) fn any_key(&self) -> String {
        format!("{}/{}/{}/*", self.domain, self.name.trim_start_matches('/'), self.kind)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    /// The token that tells others of it.
    pub(super) fn token(&self, session: &str, number: usize, role: Role, node: &str, quality: &str) -> String {
        let [node, name] = [node, &self.name].map(mangled);
        let Self { domain, kind, hash, .. } = self;
        let role = role.letters();
        format!("@ros2_lv/{domain}/{session}/0/{number}/{role}/%/%/{node}/{name}/{kind}/{hash}/{quality}")
    }

    /// Tokens of others who have it in a role.
    pub(super) fn tokens(&self, role: Role) -> String {
        format!("@ros2_lv/{}/*/*/*/{}/*/*/*/{}/**", self.domain, role.letters(), mangled(&self.name))
    }
}

/// The token of a node.
pub(super) fn node_token(domain: u16, session: &str, node: &str) -> String {
    format!("@ros2_lv/{domain}/{session}/0/0/NN/%/%/{}", mangled(node))
}

/// A name in one piece.
fn mangled(name: &str) -> String {
    name.replace('/', "%")
}

/// The type in a token of a publisher or a subscriber, as in `sensor_msgs::msg::dds_::PointCloud2_`.
pub(super) fn type_in(token: &str) -> Option<&str> {
    token.split('/').nth(10)
}

/// The quality of a topic that keeps so many messages for late joiners, or the default one: reliable, and without.
pub(super) fn quality(latched: usize) -> String {
    let (durability, depth) = if latched > 0 { ("1".to_string(), latched.to_string()) } else { Default::default() };
    format!(":{durability}:,{depth}:,:,:,,")
}

/// What goes with every message: its number, the time, and who sent it.
pub(super) fn attachment(number: i64, time: i64, sender: &[u8; 16]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(33);
    bytes.extend(number.to_le_bytes());
    bytes.extend(time.to_le_bytes());
    bytes.push(16);
    bytes.extend(sender);
    bytes
}

/// Number and sender of a request, for its answer.
pub(super) fn asked(attachment: &[u8]) -> Option<(i64, [u8; 16])> {
    let number = attachment.get(..8)?.try_into().ok()?;
    Some((i64::from_le_bytes(number), attachment.get(17..33)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_rmw_zenoh() {
        let cloud = Named::output(3, Output::Updates, "/map");
        let hash = "RIHS01_9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5";
        let key = format!("3/map/voxels_updates/sensor_msgs::msg::dds_::PointCloud2_/{hash}");
        assert_eq!(cloud.key(), key);
        assert_eq!(cloud.any_key(), key.replace(hash, "*"));
        let token = cloud.token("ab12", 4, Role::Publisher, "e2bki", &quality(0));
        let expected = format!(
            "@ros2_lv/3/ab12/0/4/MP/%/%/e2bki/%map%voxels_updates/sensor_msgs::msg::dds_::PointCloud2_/{hash}/::,:,:,:,,"
        );
        assert_eq!(token, expected);
        assert_eq!(type_in(&token), Some(cloud.kind()));
        assert_eq!(quality(32), ":1:,32:,:,:,,");
        assert_eq!(node_token(3, "ab12", "e2bki"), "@ros2_lv/3/ab12/0/0/NN/%/%/e2bki");
        let odometry = Named::topic(0, Kind::Odometry, "odom");
        assert_eq!(
            (odometry.name(), odometry.any_key().as_str()),
            ("/odom", "0/odom/nav_msgs::msg::dds_::Odometry_/*")
        );
    }

    #[test]
    fn requests_are_answered_by_their_number() {
        let bytes = attachment(7, 9, &[5; 16]);
        assert_eq!((bytes.len(), asked(&bytes)), (33, Some((7, [5; 16]))));
        assert_eq!(asked(&bytes[..32]), None);
    }

    #[test]
    fn every_type_that_is_told_has_its_hash() {
        for output in Output::ALL {
            assert!(Named::output(0, output, "/map").key().contains("RIHS01_"), "{output:?}");
        }
    }
}
