/** Runs a cluster until its standard input ends. Prints how to reach it. */
import { startCluster } from './start-cluster.ts'

const cluster = await startCluster()
const { url, kubeconfig, caFile, adminToken, folder } = cluster.apiServer
process.stdout.write(`${JSON.stringify({ url, kubeconfig, caFile, adminToken, folder })}\n`)
process.stdin.resume().on('end', () => void cluster.close().then(() => process.exit(0)))
