//! Contiguous cluster numbers, by first appearance in point order.
//!
//! Every clustering ends here, so that equal partitions get equal numbers.

/// Renames clusters to 0, 1, 2, … in the order in which the points first mention them.
///
/// The result depends on the partition only, not on how it was found. Returns the number of
/// clusters.
pub(super) fn renumber(assignment: &mut [u32]) -> u32 {
    let mut bound = 1 + assignment.iter().max().map_or(0, |&m| m as usize);
    if bound > 8 * assignment.len() {
        bound = make_dense(assignment);
    }
    let mut names = vec![u32::MAX; bound];
    let mut count = 0;
    for label in assignment {
        let name = &mut names[*label as usize];
        if *name == u32::MAX {
            *name = count;
            count += 1;
        }
        *label = *name;
    }
    count
}

/// Replaces each number by its rank, so that a stray large number costs no large table.
fn make_dense(assignment: &mut [u32]) -> usize {
    let mut distinct = assignment.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    for label in assignment {
        *label = distinct.partition_point(|d| d < label) as u32;
    }
    distinct.len()
}

#[cfg(test)]
mod tests {
    use super::renumber;

    #[test]
    fn numbers_follow_the_first_appearance() {
        let mut assignment = [7, 7, 2, 9, 2, 0];
        assert_eq!(renumber(&mut assignment), 4);
        assert_eq!(assignment, [0, 0, 1, 2, 1, 3]);
    }

    #[test]
    fn stray_large_numbers_and_no_numbers_are_fine() {
        let mut assignment = [u32::MAX, 5, u32::MAX];
        assert_eq!(renumber(&mut assignment), 2);
        assert_eq!(assignment, [0, 1, 0]);
        assert_eq!(renumber(&mut []), 0);
    }
}
