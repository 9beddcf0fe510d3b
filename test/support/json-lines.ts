import { readFileSync } from 'node:fs'

/** Reads a file with a JSON value a line. */
export function readJsonLines(file: URL): readonly unknown[] {
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}
