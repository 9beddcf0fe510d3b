import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Runs a writer, kills it at a random time, and returns the complete lines of its output. */
export async function killedWriter(
  folder: string,
  { segmentBytes = 50_000 }: { readonly segmentBytes?: number } = {},
): Promise<string[]> {
  const program = join(import.meta.dirname, 'writing-process.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', program, folder, String(segmentBytes)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const lines = 1 + Math.floor(Math.random() * 1_500)
  let printed = ''
  let count = 0
  for await (const chunk of child.stdout) {
    printed += String(chunk)
    count = printed.split('\n').length
    if (count > lines) child.kill('SIGKILL')
  }
  await exited
  return printed.split('\n').slice(0, -1)
}
