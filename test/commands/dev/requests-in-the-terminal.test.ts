import { expect, it } from 'vitest'
import { hasScript, startDevInTerminal } from '../../e2e/terminal.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

it.skipIf(!hasScript)(
  'dev shows each request in a line for people in its terminal (skipped without script)',
  async () => {
    const key = 'key-of-a-developer'
    const { lines } = startDevInTerminal(await temporaryFolder(), `--api-key ${key}`)
    for await (const line of lines) {
      const [, url] = /^listening on (\S+)/.exec(line) ?? []
      const [, request] = /^\d\d:\d\d:\d\d (\d{3} .*)/.exec(line) ?? []
      if (url !== undefined)
        void fetch(`${url}/v1/namespace/sales/create`, {
          method: 'POST',
          headers: { 'x-api-key': key, 'content-type': 'application/json' },
          body: '{}',
        })
      if (request === undefined) continue
      expect(request).toMatch(/^200 CreateNamespace sales by dev in \d+\.\d ms\s*$/)
      return
    }
    throw new Error('the terminal shows no request')
  },
)
