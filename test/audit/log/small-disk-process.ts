// Runs a gateway in a private mount namespace, with its audit log on a disk of four megabytes. Prints its address as
// JSON, and closes when standard input ends.
import { openGateway } from '../../gateway/support/open-gateway.ts'

const [upstreamUrl = ''] = process.argv.slice(2)
const gateway = await openGateway(upstreamUrl, {
  adjust: (settings) => ({ ...settings, audit: { ...settings.audit, reserveBytes: 256 * 1024 } }),
})
const { url, adminUrl, auditFolder } = gateway
const printed = { pid: process.pid, url, adminUrl, auditFolder, key: gateway.key('dev') }
process.stdout.write(`${JSON.stringify(printed)}\n`)
process.stdin.resume().once('end', () => void gateway.close())
