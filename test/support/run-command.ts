import { Writable } from 'node:stream'
import { run } from '../../src/commands/command-line.ts'

interface CommandOptions {
  readonly environment?: Readonly<Record<string, string>>
}

export interface CommandEnd {
  readonly status: number
  readonly output: string
  readonly messages: string
}

/**
 * Runs a command of the program in this process, which takes a fraction of the time of a process of its own. Relative
 * paths start at the project folder.
 */
export async function runCommand(
  parameters: readonly string[],
  { environment = {} }: CommandOptions = {},
): Promise<CommandEnd> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('CATALOG_GATEWAY__'))
  const [stdout, stderr] = [new TextCollector(), new TextCollector()]
  const status = await run(parameters, {
    stdout,
    stderr,
    environment: { ...Object.fromEntries(inherited), ...environment },
  })
  return { status, output: stdout.text, messages: stderr.text }
}

class TextCollector extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}
