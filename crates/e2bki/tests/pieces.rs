//! Primitives by cubic metre are the primitives of the map.

#[cfg(test)]
mod tests {
    use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};

    #[test]
    fn pieces_are_the_primitives_in_order() {
        let mut map = Mapper::new(ClassSet::from_names(["road", "tree"]).unwrap(), Config::default()).unwrap();
        let points: Vec<[f32; 3]> =
            (0..4000).map(|i| [(i % 61) as f32 * 0.11, (i % 47) as f32 * 0.13, (i % 7) as f32 * 0.3]).collect();
        let semantics: Vec<u32> = (0..4000).map(|i| i % 2).collect();
        let semantics = Semantics::Labels(&semantics);
        let world_from_sensor = Pose::IDENTITY;
        map.insert(&Frame { points: &points, semantics, world_from_sensor, scan: None }).unwrap();
        let mut count = 0;
        for block in map.occupied_blocks() {
            let primitives = map.primitives_in_blocks(block, block);
            let mut expected = primitives.iter();
            map.pieces_of(block, |piece| {
                let primitive = expected.next().unwrap();
                assert_eq!((piece.sums, piece.mean), (primitive.sums(), primitive.mean()));
                assert_eq!(piece.probability, primitive.probability());
                count += 1;
            });
            assert!(expected.next().is_none());
        }
        assert_eq!(count, map.len());
        assert!(count > 100);
    }
}
