import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { arePrograms, buildPrograms } from './kubernetes-programs.ts'
import { startCluster, type Cluster } from './start-cluster.ts'

/** The cluster of this run. */
interface ProvidedCluster {
  readonly url: string
  readonly kubeconfig: string
  readonly caFile: string
  readonly adminToken: string
  readonly folder: string
}

declare module 'vitest' {
  // Typed access to the values that vitest provides.
  interface ProvidedContext {
    cluster: ProvidedCluster
  }
}

let cluster: Cluster | undefined

/** Starts Kubernetes for this run, and provides it to the tests. Builds it first if it is not in the cache. */
export async function setup(project: TestProject): Promise<void> {
  if (!arePrograms()) console.info('Building Kubernetes, which takes some ten minutes; it is cached.')
  await buildPrograms()
  cluster = await startCluster()
  const { url, kubeconfig, caFile, adminToken, folder } = cluster.apiServer
  await writeFile(join(folder, 'losses.txt'), '')
  project.provide('cluster', { url, kubeconfig, caFile, adminToken, folder })
}

/** Prints what scenarios have lost. */
export async function teardown(): Promise<void> {
  if (cluster === undefined) return
  const losses = await readFile(join(cluster.apiServer.folder, 'losses.txt'), 'utf8')
  if (losses !== '') console.info(`\n${losses}`)
  await cluster.close()
}
