import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const fetchMs = 240_000

/** The folder with the manifest of the Rust programs. */
export const rustFolder = fileURLToPath(new URL('.', import.meta.url))

/** Downloads the dependencies of the Rust programs. Rejects if that is not possible. */
export async function fetchRustCrates(): Promise<void> {
  await run('cargo', ['fetch', '--locked', '--quiet'], { cwd: rustFolder, timeout: fetchMs })
}
