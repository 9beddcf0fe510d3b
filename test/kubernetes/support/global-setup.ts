import { arePrograms, buildPrograms } from './kubernetes-programs.ts'

/** Builds Kubernetes if it is not in the cache. */
export async function setup(): Promise<void> {
  if (!arePrograms()) console.info('Building Kubernetes, which takes some ten minutes; it is cached.')
  await buildPrograms()
}
