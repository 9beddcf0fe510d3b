/** Builds Kubernetes unless it is in the cache. Fails with what this machine lacks. */
import { buildPrograms, findObstacle } from './kubernetes-programs.ts'

const obstacle = findObstacle()
if (obstacle === undefined) await buildPrograms()
else {
  console.error(`Kubernetes cannot be run here: ${obstacle}`)
  process.exitCode = 1
}
