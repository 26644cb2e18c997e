//! Results as lines of text, for programs without Python: a row for each run.

use crate::Results;

impl Results {
    /// One row per run: write amplification, erases, and response times of reads and writes in
    /// milliseconds.
    pub fn table(&self) -> String {
        let head = ["run", "WA", "erases", "mean read", "p99 read", "mean write", "p99 write", "p99.9 write"];
        let mut rows = vec![head.map(str::to_owned)];
        for run in &self.runs {
            let (read, write) = (&run.response_ns.read, &run.response_ns.write);
            let ms = |ns: f64| format!("{:.3}", ns / 1e6);
            let tail = |ns: Option<u64>| ns.map_or_else(|| "none".to_owned(), |ns| ms(ns as f64));
            let mean = |ns: Option<f64>| ns.map_or_else(|| "none".to_owned(), ms);
            let erases = run.operations.iter().filter(|operation| operation.op == "erase");
            rows.push([
                run.label.clone(),
                run.write_amplification.map_or_else(|| "none".to_owned(), |factor| format!("{factor:.3}")),
                erases.map(|operation| operation.count).sum::<u64>().to_string(),
                mean(read.mean),
                tail(read.p99),
                mean(write.mean),
                tail(write.p99),
                tail(write.p99_9),
            ]);
        }
        aligned(&rows)
    }
}

/// Rows of cells as lines, each column as wide as its widest cell and to the right.
pub fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..COLUMNS).map(width).collect();
    let line = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn each_column_is_as_wide_as_its_widest_cell() {
        let rows = [["run", "WA"], ["größer", "1"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows), "   run  WA\ngrößer   1");
    }
}
