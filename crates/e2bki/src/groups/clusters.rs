//! Groups of points: what clustering makes, and what looks at the points of a cube one cube at a time.

/// Groups of points, stored one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clusters {
    members: Vec<u32>,
    starts: Vec<u32>,
}

impl Clusters {
    /// Groups points by cluster number; `numbers` must be below `count`.
    pub(crate) fn of_numbers(points: &[u32], numbers: &[u32], count: usize) -> Self {
        let mut starts = vec![0_u32; count + 1];
        numbers.iter().for_each(|number| starts[*number as usize + 1] += 1);
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut members = vec![0; points.len()];
        for (point, number) in points.iter().zip(numbers) {
            members[next[*number as usize] as usize] = *point;
            next[*number as usize] += 1;
        }
        Self { members, starts }
    }

    /// Groups one after the other.
    pub(crate) fn concat(parts: &[Self]) -> Self {
        let points = parts.iter().map(|part| part.members.len()).sum();
        let mut all = Self { members: Vec::with_capacity(points), starts: vec![0] };
        for part in parts {
            let offset = all.members.len() as u32;
            all.members.extend_from_slice(&part.members);
            all.starts.extend(part.starts.iter().skip(1).map(|start| start + offset));
        }
        all
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Points of a group.
    pub fn members(&self, cluster: usize) -> &[u32] {
        &self.members[self.starts[cluster] as usize..self.starts[cluster + 1] as usize]
    }
}
