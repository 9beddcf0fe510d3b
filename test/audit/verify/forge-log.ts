import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readSealVerifier, type SealVerifier } from '../../../src/audit/records/seal-key.ts'

export function keyOf(folder: string): Promise<SealVerifier> {
  return readSealVerifier(join(folder, 'seal-public-key.pem'))
}

/** Changes the signature of a line that has one. */
export function changeSignature(line: string): string {
  return line.replace(/(?<="signature":")./, (first) => (first === 'A' ? 'B' : 'A'))
}

/**
 * Simulates an attacker with write access but without the key: changes lines, and recomputes numbers, links and hashes.
 */
export async function forge(path: string, change: (lines: string[]) => readonly string[]): Promise<void> {
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  let seq: number | undefined
  let prev: string | undefined
  const forged = change(lines).map((line) => {
    let body = line.slice(0, line.lastIndexOf(',"hash":'))
    seq ??= Number(/"seq":(\d+)/.exec(body)?.[1])
    prev ??= /"prev":"(\w+)"/.exec(body)?.[1]
    body = body.replace(/"seq":\d+/, `"seq":${seq}`).replace(/"prev":"\w+"/, `"prev":"${prev}"`)
    seq += 1
    prev = createHash('sha256').update(body).digest('hex')
    return `${body},"hash":"${prev}"}\n`
  })
  await writeFile(path, forged.join(''))
}
