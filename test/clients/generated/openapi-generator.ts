import { execFile } from 'node:child_process'
import { copyFile, mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isThorough } from '../../support/thorough.ts'
import { cachedClient, fillCache } from '../clients-cache.ts'
import { pythonOf } from '../python/python-environments.ts'

const run = promisify(execFile)
const version = '7.16.0'
const generatorFolder = `openapi-generator-${version}`
const jar = join(cachedClient(generatorFolder), `openapi-generator-cli-${version}.jar`)
const installMs = 240_000
const buildMs = 900_000

interface Language {
  readonly generator: string
  /** A program that must be there. */
  readonly toolchain: string
  readonly properties: string
  /** Files of the scenario, each with its place in the generated code. */
  readonly scenario: readonly (readonly [source: string, target: string])[]
  /** Commands that compile the generated code and the scenario. */
  readonly build: readonly (readonly [program: string, ...options: string[]])[]
  /** The command that runs the scenario in the folder of the generated code. */
  readonly command: readonly [program: string, ...options: string[]]
}

const typescript = fileURLToPath(new URL('../../../node_modules/.bin/tsc', import.meta.url))
const types = fileURLToPath(new URL('../../../node_modules/@types', import.meta.url))

export const languages = {
  Python: {
    generator: 'python',
    toolchain: 'python3',
    properties: 'packageName=catalog',
    scenario: [
      ['../../python/steps.py', 'steps.py'],
      ['scenario.py', 'scenario.py'],
    ],
    build: [],
    // Its packages include those that generated code needs.
    command: [pythonOf('lance-14.0.2'), 'scenario.py'],
  },
  TypeScript: {
    generator: 'typescript-fetch',
    toolchain: 'node',
    properties: 'importFileExtension=.js',
    scenario: [
      ['package.json', 'package.json'],
      ['scenario.ts', 'scenario.ts'],
    ],
    build: [
      [
        typescript,
        ...'--outDir built --target es2022 --module nodenext --strict --skipLibCheck'.split(' '),
        ...`--lib es2022,dom --types node --typeRoots ${types} scenario.ts`.split(' '),
      ],
    ],
    command: [process.execPath, 'built/scenario.js'],
  },
} as const satisfies Readonly<Record<string, Language>>

/** Fetches the generator unless it is in the cache. Rejects if that is not possible, or `toolchain` is not there. */
export async function installGenerator(toolchain: string): Promise<void> {
  if (!isThorough) throw new Error('it is part of THOROUGH=1 npm run test:clients')
  await run('which', [toolchain])
  const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${version}`
  await fillCache(generatorFolder, (folder) =>
    run('mvn', ['-q', '-B', 'dependency:copy', artifact, `-DoutputDirectory=${folder}`], {
      timeout: installMs,
    }),
  )
}

/**
 * Generates a client from the OpenAPI document at a URL, and compiles it with its scenario. Returns the folder. Rejects
 * with the messages of the compiler.
 */
export async function buildClient(language: Language, document: string): Promise<string> {
  const folder = join(cachedClient('generated'), language.generator)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const options = ['-i', document, '-g', language.generator, '-o', folder]
  const properties = ['--additional-properties', language.properties]
  await runQuietly(['java', '-jar', jar, 'generate', ...options, ...properties], folder)
  for (const [source, target] of language.scenario) {
    await mkdir(dirname(join(folder, target)), { recursive: true })
    await copyFile(fileURLToPath(new URL(`scenarios/${source}`, import.meta.url)), join(folder, target))
  }
  for (const command of language.build) await runQuietly(command, folder)
  return folder
}

/** Rejects with what the program printed if it fails. */
async function runQuietly([program, ...options]: Language['build'][number], cwd: string): Promise<void> {
  try {
    await run(program, options, { cwd, timeout: buildMs, maxBuffer: 1 << 26 })
  } catch (cause) {
    const { stdout, stderr } = cause as { stdout: string; stderr: string }
    throw new Error(`${program} failed:\n${stdout}${stderr}`.slice(0, 4000), { cause })
  }
}
