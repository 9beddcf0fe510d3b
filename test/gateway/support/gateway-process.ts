// A gateway in a process of its own, in front of the upstream that is named: prints how to reach it as JSON, and
// closes when its standard input ends.
import { openGateway } from './open-gateway.ts'

const [upstreamUrl = ''] = process.argv.slice(2)
const gateway = await openGateway(upstreamUrl)
const { url, adminUrl, auditFolder } = gateway
process.stdout.write(`${JSON.stringify({ url, adminUrl, auditFolder, key: gateway.key('dev') })}\n`)
process.stdin.resume().once('end', () => void gateway.close())
