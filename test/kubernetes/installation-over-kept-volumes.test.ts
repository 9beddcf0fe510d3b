import { basename } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { chartFolder } from '../helm/chart.ts'
import { helm, helms } from '../helm/helm-programs.ts'
import { startApiServer, type ApiServer } from './support/start-api-server.ts'

let server: ApiServer

beforeAll(async () => {
  server = await startApiServer()
}, 180_000)
afterAll(() => server?.close())

it.each(helms)(
  'an installation over the volumes of an earlier one says that its key is new, with %s',
  async (program) => {
    const namespace = `of-${basename(program)}`
    const { client, kubeconfig } = server
    await client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    const where = ['--namespace', namespace, '--kubeconfig', kubeconfig]
    // Nothing runs the Job of the check here.
    const install = () => helm(['install', 'demo', chartFolder, '--no-hooks', ...where], program)
    expect(await install()).not.toContain('The volumes of an earlier installation are used')
    await helm(['uninstall', 'demo', ...where], program)
    await client.apply(
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data-demo-catalog-gateway-0' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
      namespace,
    )
    expect(await install()).toContain('The key is new: that of the earlier one is not valid.')
    expect(await helm(['upgrade', 'demo', chartFolder, '--no-hooks', ...where], program)).not.toContain(
      'The key is new',
    )
  },
)
