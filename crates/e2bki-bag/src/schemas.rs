//! Definitions of the messages that are written, as `ros2 interface show` has them without comments: a file explains itself,
//! so that viewers need no packages of ROS.

use crate::write::Schema;

/// Definitions joined as MCAP wants them: the message's own, then those that it uses, each behind a line and its name.
macro_rules! definition {
    ($own:expr $(, $name:literal : $text:expr)* $(,)?) => {
        concat!($own $(, "\n================================================================================\nMSG: ", $name, "\n", $text)*)
    };
}

macro_rules! time {
    () => {
        "int32 sec\nuint32 nanosec"
    };
}
macro_rules! header {
    () => {
        "builtin_interfaces/Time stamp\nstring frame_id"
    };
}
macro_rules! point {
    () => {
        "float64 x\nfloat64 y\nfloat64 z"
    };
}
macro_rules! quaternion {
    () => {
        "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1"
    };
}
macro_rules! pose {
    () => {
        "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation"
    };
}

/// Clouds of points.
pub const POINT_CLOUD: Schema = Schema {
    name: "sensor_msgs/msg/PointCloud2",
    text: definition!(
        "std_msgs/Header header\nuint32 height\nuint32 width\nsensor_msgs/PointField[] fields\nbool is_bigendian\nuint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense",
        "std_msgs/Header": header!(), "builtin_interfaces/Time": time!(),
        "sensor_msgs/PointField": "uint8 INT8=1\nuint8 UINT8=2\nuint8 INT16=3\nuint8 UINT16=4\nuint8 INT32=5\nuint8 UINT32=6\nuint8 FLOAT32=7\nuint8 FLOAT64=8\nstring name\nuint32 offset\nuint8 datatype\nuint32 count",
    ),
};

/// Transforms between frames.
pub const TRANSFORMS: Schema = Schema {
    name: "tf2_msgs/msg/TFMessage",
    text: definition!(
        "geometry_msgs/TransformStamped[] transforms",
        "geometry_msgs/TransformStamped": "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform",
        "std_msgs/Header": header!(), "builtin_interfaces/Time": time!(),
        "geometry_msgs/Transform": "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation",
        "geometry_msgs/Vector3": point!(), "geometry_msgs/Quaternion": quaternion!(),
    ),
};

/// Images as they are.
pub const IMAGE: Schema = Schema {
    name: "sensor_msgs/msg/Image",
    text: definition!(
        "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data",
        "std_msgs/Header": header!(), "builtin_interfaces/Time": time!(),
    ),
};

/// Images as JPEG or PNG.
pub const COMPRESSED_IMAGE: Schema = Schema {
    name: "sensor_msgs/msg/CompressedImage",
    text: definition!(
        "std_msgs/Header header\nstring format\nuint8[] data",
        "std_msgs/Header": header!(), "builtin_interfaces/Time": time!(),
    ),
};

/// Calibrations of cameras.
pub const CAMERA_INFO: Schema = Schema {
    name: "sensor_msgs/msg/CameraInfo",
    text: definition!(
        "std_msgs/Header header\nuint32 height\nuint32 width\nstring distortion_model\nfloat64[] d\nfloat64[9] k\nfloat64[9] r\nfloat64[12] p\nuint32 binning_x\nuint32 binning_y\nsensor_msgs/RegionOfInterest roi",
        "std_msgs/Header": header!(), "builtin_interfaces/Time": time!(),
        "sensor_msgs/RegionOfInterest": "uint32 x_offset\nuint32 y_offset\nuint32 height\nuint32 width\nbool do_rectify",
    ),
};

/// What the ids of labels mean.
pub const LABEL_INFO: Schema = Schema {
    name: "vision_msgs/msg/LabelInfo",
    text: definition!(
        "std_msgs/Header header\nvision_msgs/VisionClass[] class_map\nfloat32 threshold",
        "std_msgs/Header": header!(), "builtin_interfaces/Time": time!(),
        "vision_msgs/VisionClass": "uint16 class_id\nstring class_name",
    ),
};

/// Grids of cells that are free, taken or unknown.
pub const OCCUPANCY_GRID: Schema = Schema {
    name: "nav_msgs/msg/OccupancyGrid",
    text: definition!(
        "std_msgs/Header header\nnav_msgs/MapMetaData info\nint8[] data",
        "std_msgs/Header": header!(), "builtin_interfaces/Time": time!(),
        "nav_msgs/MapMetaData": "builtin_interfaces/Time map_load_time\nfloat32 resolution\nuint32 width\nuint32 height\ngeometry_msgs/Pose origin",
        "geometry_msgs/Pose": pose!(), "geometry_msgs/Point": point!(), "geometry_msgs/Quaternion": quaternion!(),
    ),
};

/// Grids of several layers.
pub const GRID_MAP: Schema = Schema {
    name: "grid_map_msgs/msg/GridMap",
    text: definition!(
        "std_msgs/Header header\ngrid_map_msgs/GridMapInfo info\nstring[] layers\nstring[] basic_layers\nstd_msgs/Float32MultiArray[] data\nuint16 outer_start_index\nuint16 inner_start_index",
        "std_msgs/Header": header!(), "builtin_interfaces/Time": time!(),
        "grid_map_msgs/GridMapInfo": "float64 resolution\nfloat64 length_x\nfloat64 length_y\ngeometry_msgs/Pose pose",
        "geometry_msgs/Pose": pose!(), "geometry_msgs/Point": point!(), "geometry_msgs/Quaternion": quaternion!(),
        "std_msgs/Float32MultiArray": "std_msgs/MultiArrayLayout layout\nfloat32[] data",
        "std_msgs/MultiArrayLayout": "std_msgs/MultiArrayDimension[] dim\nuint32 data_offset",
        "std_msgs/MultiArrayDimension": "string label\nuint32 size\nuint32 stride",
    ),
};

/// Shapes to look at.
pub const MARKERS: Schema = Schema {
    name: "visualization_msgs/msg/MarkerArray",
    text: definition!(
        "visualization_msgs/Marker[] markers",
        "visualization_msgs/Marker": "std_msgs/Header header\nstring ns\nint32 id\nint32 type\nint32 action\ngeometry_msgs/Pose pose\ngeometry_msgs/Vector3 scale\nstd_msgs/ColorRGBA color\nbuiltin_interfaces/Duration lifetime\nbool frame_locked\ngeometry_msgs/Point[] points\nstd_msgs/ColorRGBA[] colors\nstring texture_resource\nsensor_msgs/CompressedImage texture\nvisualization_msgs/UVCoordinate[] uv_coordinates\nstring text\nstring mesh_resource\nvisualization_msgs/MeshFile mesh_file\nbool mesh_use_embedded_materials",
        "std_msgs/Header": header!(), "builtin_interfaces/Time": time!(),
        "geometry_msgs/Pose": pose!(), "geometry_msgs/Point": point!(), "geometry_msgs/Quaternion": quaternion!(),
        "geometry_msgs/Vector3": point!(), "std_msgs/ColorRGBA": "float32 r\nfloat32 g\nfloat32 b\nfloat32 a",
        "builtin_interfaces/Duration": "int32 sec\nuint32 nanosec",
        "sensor_msgs/CompressedImage": "std_msgs/Header header\nstring format\nuint8[] data",
        "visualization_msgs/UVCoordinate": "float32 u\nfloat32 v",
        "visualization_msgs/MeshFile": "string filename\nuint8[] data",
    ),
};

/// How a program is doing.
pub const DIAGNOSTICS: Schema = Schema {
    name: "diagnostic_msgs/msg/DiagnosticArray",
    text: definition!(
        "std_msgs/Header header\ndiagnostic_msgs/DiagnosticStatus[] status",
        "std_msgs/Header": header!(), "builtin_interfaces/Time": time!(),
        "diagnostic_msgs/DiagnosticStatus": "byte OK=0\nbyte WARN=1\nbyte ERROR=2\nbyte STALE=3\nbyte level\nstring name\nstring message\nstring hardware_id\ndiagnostic_msgs/KeyValue[] values",
        "diagnostic_msgs/KeyValue": "string key\nstring value",
    ),
};
