//! A run for trials of purging: `marked_run MAP.e2bki OUT.e2bki` writes the map with a primitive more, and prints the bytes
//! (in hexadecimal) that every file has which holds it.

#[path = "../tests/marker/mod.rs"]
mod marker;

fn main() -> e2bki_fleet::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [map, out] = arguments.as_slice() else {
        return Err(e2bki_fleet::Error::Refused("give a map and a file to write".into()));
    };
    let mut map = e2bki_store::load(map)?;
    marker::mark(&mut map)?;
    e2bki_store::save_with(&map, &["marked".into()], out)?;
    println!("{}", marker::bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    Ok(())
}
