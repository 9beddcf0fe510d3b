import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isThorough } from '../../support/thorough.ts'
import { cachedClient, fillCache } from '../clients-cache.ts'

/** Clients in Java; `CLIENT.pom.xml` names the libraries of each. */
export const javaClients = ['lance-namespace-apache-client', 'lance-core', 'lance-spark'] as const

export type JavaClient = (typeof javaClients)[number]

/** Those whose libraries have some hundred megabytes. */
const largeClients: readonly JavaClient[] = ['lance-core', 'lance-spark']

const run = promisify(execFile)
const installMs = 240_000
const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'

function pomOf(client: JavaClient): string {
  return fileURLToPath(new URL(`${client}.pom.xml`, import.meta.url))
}

/** The folder with the libraries of a client. */
export function librariesOf(client: JavaClient): string {
  return cachedClient(libraryFolder(client))
}

/** Another one if the list of the libraries changes. */
function libraryFolder(client: JavaClient): string {
  const version = createHash('sha256')
    .update(readFileSync(pomOf(client)))
    .digest('hex')
    .slice(0, 12)
  return `java-${client}-${version}`
}

/** Fetches the libraries of a client unless they are in the cache. Rejects if that is not possible. */
export async function installJavaClient(client: JavaClient): Promise<void> {
  if (largeClients.includes(client) && !isThorough) {
    throw new Error('it is part of THOROUGH=1 npm run test:clients')
  }
  await run('javac', ['-version'])
  const options = ['--quiet', '--batch-mode', '--file', pomOf(client), copyDependencies]
  await fillCache(libraryFolder(client), (folder) =>
    run('mvn', [...options, `-DoutputDirectory=${folder}`], { timeout: installMs }),
  )
}
