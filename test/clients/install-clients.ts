import type { TestProject } from 'vitest/node'
import { installGenerator, languages } from './generated/openapi-generator.ts'
import { installLinters } from './generated/openapi-linters.ts'
import { installNewestLancedb, newestLancedb } from './javascript/javascript-client.ts'
import { installJavaClient, javaClients } from './java/java-libraries.ts'
import { installPythonEnvironment, pythonEnvironments } from './python/python-environments.ts'
import { fetchLancedbSources } from './rust/lancedb-sources.ts'
import { fetchRustCrates } from './rust/rust-programs.ts'
import { getKeys } from '../../src/lib/collections.ts'

declare module 'vitest' {
  // Typed access to the values that vitest provides.
  interface ProvidedContext {
    installedClients: readonly string[]
  }
}

type Installer = readonly [client: string, install: () => Promise<void>]

/**
 * Fetches each client from its package registry; rejects if that is not possible on this machine. What a scenario
 * builds from it is built by its test: a scenario that does not compile is a failure.
 */
const installers: readonly Installer[] = [
  ...getKeys(pythonEnvironments).map((environment): Installer => [
    environment,
    () => installPythonEnvironment(environment),
  ]),
  [newestLancedb, installNewestLancedb],
  ...javaClients.map((client): Installer => [client, () => installJavaClient(client)]),
  ['rust', fetchRustCrates],
  ['lancedb-sources', async () => void (await fetchLancedbSources())],
  ['openapi-linters', installLinters],
  ...getKeys(languages).map((name): Installer => [
    `generated ${name}`,
    () => installGenerator(languages[name].toolchain),
  ]),
  ['generated Go', () => installGenerator('go')],
]

/** Installs the real clients, and prints which cannot be installed and why. */
export async function setup(project: TestProject): Promise<void> {
  const installed: string[] = []
  for (const [client, install] of installers) {
    try {
      await install()
      installed.push(client)
    } catch (error) {
      const obstacle = error instanceof Error ? error.message.trim() : String(error)
      console.warn(`SKIPPED: the tests with ${client}, as it is not installed: ${obstacle}`)
    }
  }
  project.provide('installedClients', installed)
}
