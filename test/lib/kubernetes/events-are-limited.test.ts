import { expect, it } from 'vitest'
import { createEventRecorder } from '../../../src/lib/kubernetes/event-recorder.ts'
import type { KubernetesError } from '../../../src/lib/kubernetes/kubernetes-error.ts'
import type { KubernetesObject } from '../../../src/lib/kubernetes/kubernetes-object.ts'
import {
  createThing,
  sendJson,
  sendStatus,
  startScriptedApiServer,
  type Script,
} from './scripted-api-server.ts'

async function openRecorder(script: Script = sendJson({}, 201)) {
  const server = await startScriptedApiServer(script)
  const errors: KubernetesError[] = []
  const recorder = createEventRecorder({
    client: server.client,
    controller: 'example.com/controller',
    instance: 'replica-1',
    onError: (error) => errors.push(error),
  })
  const record = (regarding: KubernetesObject, note: string): Promise<void> =>
    recorder.record({ regarding, type: 'Warning', reason: 'Invalid', action: 'Validate', note })
  return { ...server, record, errors }
}

function inNamespace(namespace: string, name: string): KubernetesObject {
  const thing = createThing(name, '1')
  return { ...thing, metadata: { ...thing.metadata, namespace, uid: `${namespace}/${name}` } }
}

it('leaves out an equal event', async () => {
  const { record, requests } = await openRecorder()
  const [one, other] = [inNamespace('team-a', 'one'), inNamespace('team-a', 'other')]
  await record(one, 'line 1')
  await record(one, 'line 1')
  await record(one, 'line 2')
  await record(other, 'line 1')
  expect(requests.map(({ body }) => (body as { note: string }).note)).toEqual(['line 1', 'line 2', 'line 1'])
})

it('records 20 a minute in each Kubernetes namespace', async () => {
  const { record, requests } = await openRecorder()
  for (let count = 0; count < 30; count += 1) await record(inNamespace('team-a', 'noisy'), `line ${count}`)
  expect(requests).toHaveLength(20)
  await record(inNamespace('team-b', 'quiet'), 'line 1')
  expect(requests).toHaveLength(21)
  expect(requests.at(-1)?.path).toBe('/apis/events.k8s.io/v1/namespaces/team-b/events')
})

it('reports a failure without a rejection', async () => {
  const { record, errors } = await openRecorder(sendStatus(403))
  await record(inNamespace('team-a', 'one'), 'line 1')
  expect(errors).toMatchObject([{ status: 403 }])
})
