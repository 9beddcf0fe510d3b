// A gateway whose commits are recorded in that mode, in front of the upstream that is named: prints how to reach it
// as JSON, and closes when its standard input ends.
import { operationModes } from '../../src/audit/modes.ts'
import { openGateway } from '../gateway/open-gateway.ts'

const [upstreamUrl = '', mode] = process.argv.slice(2)
const commit = operationModes.find((name) => name === mode) ?? 'strict'
const gateway = await openGateway(upstreamUrl, {
  adjust: (settings) => ({
    ...settings,
    audit: { ...settings.audit, modes: { ...settings.audit.modes, commit } },
  }),
})
process.stdout.write(`${JSON.stringify({ url: gateway.url, key: gateway.key('dev') })}\n`)
process.stdin.resume().once('end', () => void gateway.close())
