import { readFile } from 'node:fs/promises'

/**
 * Reads a file with one line, such as a password, without the white space around it. Rejects if it is empty, as a file is
 * while it is written, or has control characters.
 */
export async function readSecret(file: string): Promise<string> {
  const text = (await readFile(file, 'utf8')).trim()
  if (text === '') throw new Error(`expected one line, but the file is empty: ${file}`)
  if (/\p{Cc}/u.test(text)) throw new Error(`expected one line without control characters: ${file}`)
  return text
}

/** Reads a file with the value of a header, like `readSecret`. */
export async function readHeaderValue(file: string): Promise<string> {
  const text = await readSecret(file)
  if (!/^[ -~]+$/.test(text)) throw new Error(`expected printable ASCII characters: ${file}`)
  return text
}
