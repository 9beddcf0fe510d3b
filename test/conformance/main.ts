// Tests a catalog at any URL against the catalog API: npm run conformance -- --url URL [--api-key KEY] [--token TOKEN]
import { parseArgs } from 'node:util'
import { runConformance, type Outcome, type Result } from './conformance.ts'

const usage = `usage: npm run conformance -- --url URL [--api-key KEY] [--token TOKEN]
Tests a server of the catalog API, and fails if it does something differently. It creates a namespace conformance_... with
namespaces and tables, writes to them, and removes them in the end; what lies at a location that the server did not choose
for them is never dropped. Commits are tested on tables in folders of this machine.
`
const headings: readonly (readonly [Result, string])[] = [
  ['failed', 'Does differently'],
  ['missing', 'Lacks'],
  ['skipped', 'Not tested'],
]

function readArguments() {
  try {
    const type = 'string'
    const { values } = parseArgs({ options: { url: { type }, 'api-key': { type }, token: { type } } })
    return values.url === undefined || !URL.canParse(values.url) ? undefined : { ...values, url: values.url }
  } catch {
    return undefined
  }
}

/** What did not pass, each with its reason, and how many did. */
function format(outcomes: readonly Outcome[]): string {
  const sections = headings.flatMap(([which, heading]) => {
    const found = outcomes.filter(({ result }) => result === which)
    const lines = found.map(({ operation, title, message }) => {
      const reason = message.split('\n').slice(0, 12).join('\n').replaceAll(/^/gm, '  ')
      return `${operation}: ${title}\n${reason}`
    })
    return found.length === 0 ? [] : [`${heading}:`, ...lines, '']
  })
  const passed = outcomes.filter(({ result }) => result === 'passed').length
  return `${[...sections, `${passed} of ${outcomes.length} cases passed`].join('\n')}\n`
}

const values = readArguments()
if (values === undefined) {
  process.stderr.write(usage)
  process.exitCode = 2
} else {
  try {
    const outcomes = await runConformance({
      url: values.url,
      credentials: {
        ...(values['api-key'] !== undefined && { 'x-api-key': values['api-key'] }),
        ...(values.token !== undefined && { authorization: `Bearer ${values.token}` }),
      },
    })
    process.stdout.write(format(outcomes))
    process.exitCode = outcomes.some(({ result }) => result === 'failed') ? 1 : 0
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    process.stderr.write(`the catalog cannot be tested: ${reason}\n`)
    process.exitCode = 1
  }
}
