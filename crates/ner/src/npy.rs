//! A square table of numbers as NumPy writes it (`.npy`, format 1.0, little-endian 32-bit floats).

/// Rows of a square table.
pub(crate) fn square(bytes: &[u8]) -> Result<Vec<Vec<f32>>, String> {
    let rest =
        bytes.strip_prefix(b"\x93NUMPY\x01\x00").ok_or("it is no .npy file of format 1.0")?;
    let (len, rest) = rest.split_first_chunk::<2>().ok_or(SHORT)?;
    let len = usize::from(u16::from_le_bytes(*len));
    let (head, data) = rest.split_at_checked(len).ok_or(SHORT)?;
    let head = String::from_utf8_lossy(head);
    if !head.contains("'descr': '<f4'") || !head.contains("'fortran_order': False") {
        return Err("it does not hold 32-bit floats, row by row".to_owned());
    }
    let numbers: Vec<f32> = data
        .chunks_exact(size_of::<f32>())
        .filter_map(|chunk| Some(f32::from_le_bytes(chunk.try_into().ok()?)))
        .collect();
    let side = numbers.len().isqrt();
    if side == 0 || side * side != numbers.len() || !head.contains(&format!("({side}, {side})")) {
        return Err("it is no square table".to_owned());
    }
    Ok(numbers.chunks(side).map(<[f32]>::to_vec).collect())
}

const SHORT: &str = "it ends too early";

#[cfg(test)]
mod tests {
    use super::square;

    fn file(head: &str, numbers: &[f32]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((head.len() as u16).to_le_bytes());
        bytes.extend(head.as_bytes());
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes
    }

    #[test]
    fn a_square_is_read_by_rows_and_all_else_is_refused() {
        let head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
        let good = file(head, &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(square(&good), Ok(vec![vec![1.0, 2.0], vec![3.0, 4.0]]));
        for wrong in [
            file(head, &[1.0, 2.0, 3.0]),
            file(&head.replace("<f4", "<f8"), &[1.0, 2.0, 3.0, 4.0]),
            good.get(..20).unwrap().to_vec(),
            b"PK".to_vec(),
        ] {
            assert!(square(&wrong).is_err());
        }
    }
}
