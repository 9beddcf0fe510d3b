// Runs a gateway in a separate process, in front of the given upstream: prints its address as JSON, and closes when its
// standard input ends or on SIGTERM.
import { openGateway } from './open-gateway.ts'

const [upstreamUrl = ''] = process.argv.slice(2)
const gateway = await openGateway(upstreamUrl)
const { url, adminUrl, auditFolder } = gateway
process.stdout.write(`${JSON.stringify({ url, adminUrl, auditFolder, key: gateway.key('dev') })}\n`)
process.stdin.resume().once('end', () => void gateway.close())
process.once('SIGTERM', () => process.stdin.push(null))
