import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { auditSchema } from '../../src/config/audit-settings.ts'
import { projectFolder } from '../e2e/built-program.ts'

interface Collector {
  readonly extensions: object
  readonly receivers: {
    readonly otlp: { readonly protocols: { readonly http: { readonly endpoint: string } } }
  }
  readonly processors: object
  readonly exporters: object
  readonly service: {
    readonly extensions: readonly string[]
    readonly pipelines: Readonly<Record<string, Readonly<Record<Part, readonly string[] | undefined>>>>
  }
}
type Part = 'receivers' | 'processors' | 'exporters'

const read = (name: string) => readFile(join(projectFolder, 'examples/collector', name), 'utf8')

it('examples/collector connects parts that it defines', async () => {
  const collector = parse(await read('collector.yaml')) as Collector
  const { service, extensions } = collector
  expect(Object.keys(extensions)).toEqual(service.extensions)
  for (const pipeline of Object.values(service.pipelines)) {
    for (const part of ['receivers', 'processors', 'exporters'] as const)
      expect(Object.keys(collector[part])).toEqual(expect.arrayContaining([...(pipeline[part] ?? [])]))
  }
  expect(Object.keys(collector.exporters)).toEqual(['kafka', 'splunk_hec', 'awss3'])
})

it('examples/collector receives what the settings in its README send', async () => {
  const [, text = ''] = /```yaml\n([^]*?)```/.exec(await read('README.md')) ?? []
  const { sinks } = auditSchema.parse((parse(text) as { audit: object }).audit)
  const [sink] = sinks
  const { receivers } = parse(await read('collector.yaml')) as Collector
  const url = new URL(sink?.type === 'otlp' ? sink.url : '')
  expect(url.pathname).toBe('/v1/logs')
  expect(receivers.otlp.protocols.http.endpoint).toBe(`0.0.0.0:${url.port}`)
})
