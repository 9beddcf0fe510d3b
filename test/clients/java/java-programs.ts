import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { librariesOf, type JavaClient } from './java-libraries.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)
const sources = fileURLToPath(new URL('.', import.meta.url))

/** Arrow and Spark use memory outside of the heap. */
const accessOptions = ['java.nio', 'sun.nio.ch'].map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`)

type Command = [program: string, ...options: string[]]

/** The command that compiles and runs a program of one file. */
export function programCommand(client: JavaClient, file: string): Command {
  return ['java', ...accessOptions, '-cp', join(librariesOf(client), '*'), file]
}

/** Compiles a scenario of the folder `scenarios`. Returns the command that runs it until the test ends. */
export async function compileScenario(client: JavaClient, name: string): Promise<Command> {
  const classes = await temporaryFolder()
  const libraries = join(librariesOf(client), '*')
  const file = join(sources, 'scenarios', `${name}.java`)
  await run('javac', ['-proc:none', '-cp', libraries, '-sourcepath', sources, '-d', classes, file])
  return ['java', ...accessOptions, '-cp', `${classes}:${libraries}`, `scenarios.${name}`]
}
