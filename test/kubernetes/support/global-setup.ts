import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { spawnProcess, type SpawnedProcess } from '../../differential/spawned-process.ts'
import { arePrograms, buildPrograms } from './kubernetes-programs.ts'

/** How tests reach the cluster of this run. */
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

let program: SpawnedProcess | undefined
let lossesFile = ''

/** Starts Kubernetes for this run, and provides it to the tests. Builds it first if it is not in the cache. */
export async function setup(project: TestProject): Promise<void> {
  if (!arePrograms()) console.info('Building Kubernetes, which takes some ten minutes; it is cached.')
  await buildPrograms()
  program = await spawnProcess(new URL('cluster-process.ts', import.meta.url), [])
  const cluster = JSON.parse(program.firstLine) as ProvidedCluster
  lossesFile = join(cluster.folder, 'losses.txt')
  await writeFile(lossesFile, '')
  project.provide('cluster', cluster)
}

/** Prints what scenarios have lost. */
export async function teardown(): Promise<void> {
  if (program === undefined) return
  const losses = await readFile(lossesFile, 'utf8')
  const problems = program.log.map((line) => JSON.stringify(line)).join('\n')
  console.info(`\n${losses}${problems}`)
  await program.stop()
}
