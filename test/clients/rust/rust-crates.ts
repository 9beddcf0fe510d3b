import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const fetchMs = 240_000

const folder = fileURLToPath(new URL('.', import.meta.url))

/** The programs, each with the folder of its manifest. The crate `lancedb` takes a quarter of an hour to build. */
export const rustPrograms = {
  scenario: folder,
  documented: folder,
  'lancedb-methods': `${folder}lancedb`,
  'restricted-reads': `${folder}lancedb`,
} as const satisfies Readonly<Record<string, string>>

/** Downloads the dependencies of all programs. Rejects if that is not possible. */
export async function fetchRustCrates(): Promise<void> {
  await run('cargo', ['fetch', '--locked', '--quiet'], { cwd: folder, timeout: fetchMs })
}

/** The same, and rejects if the compiler of protocol buffers is missing that the build of LanceDB calls. */
export async function fetchLancedbCrates(): Promise<void> {
  await run('protoc', ['--version'])
  await fetchRustCrates()
}
