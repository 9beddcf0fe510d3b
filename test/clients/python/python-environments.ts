import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isThorough } from '../../support/thorough.ts'
import { cachedClient, fillCache } from '../clients-cache.ts'

/** Python packages of real clients, by the name of their environment. */
export const pythonEnvironments = {
  'lancedb-0.40.0': ['lancedb==0.40.0'],
  'lancedb-0.27.1': ['lancedb==0.27.1'],
  'lancedb-0.18.0': ['lancedb==0.18.0'],
  'lancedb-0.16.0': ['lancedb==0.16.0'],
  // Requires NumPy 1, which newer versions of pyarrow refuse.
  'lancedb-0.14.0': ['lancedb==0.14.0', 'pyarrow==18.1.0'],
  'lance-14.0.2': ['pylance==14.0.2', 'lance-namespace==0.13.0'],
  'lance-7.1.0': ['pylance==7.1.0'],
  'lance-4.0.2': ['pylance==4.0.2'],
  'lance-2.0.1': ['pylance==2.0.1'],
  'vector-stores': [
    'lancedb==0.40.0',
    'langchain-core==1.8.3',
    'llama-index-vector-stores-lancedb==0.6.0',
    'pandas==3.1.1',
  ],
  'schemathesis-4.32.5': ['schemathesis==4.32.5'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type PythonEnvironment = keyof typeof pythonEnvironments

/** Those that are tested always; the others only in the long form. */
const alwaysTested: readonly PythonEnvironment[] = [
  'lancedb-0.40.0',
  'lancedb-0.27.1',
  'lance-14.0.2',
  'schemathesis-4.32.5',
]

const run = promisify(execFile)
const installMs = 240_000

/** The interpreter of an environment; it exists once the environment is installed. */
export function pythonOf(environment: PythonEnvironment): string {
  return join(cachedClient(environment), 'bin', 'python')
}

/** Installs an environment from the package registry unless it is in the cache. Rejects if that is not possible. */
export async function installPythonEnvironment(environment: PythonEnvironment): Promise<void> {
  if (!isThorough && !alwaysTested.includes(environment)) {
    throw new Error('it is part of THOROUGH=1 npm run test:clients')
  }
  await fillCache(environment, async (folder) => {
    await run('python3', ['-m', 'venv', folder])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:']
    const packages = pythonEnvironments[environment]
    await run(join(folder, 'bin', 'python'), [...pip, ...packages], { timeout: installMs })
  })
}
