import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { KubernetesClient } from './kubernetes-client.ts'
import { toKubernetesError, type KubernetesError } from './kubernetes-error.ts'
import type { KubernetesObject } from './kubernetes-object.ts'

export interface EventRecorderOptions {
  readonly client: KubernetesClient
  /** Such as `example.com/gateway`. */
  readonly controller: string
  /** This process. */
  readonly instance: string
  /** An event was not recorded. Must not throw. */
  readonly onError: (error: KubernetesError) => void
}

interface ObjectEvent {
  readonly regarding: KubernetesObject
  readonly type: 'Normal' | 'Warning'
  /** Words in upper camel case. */
  readonly reason: string
  readonly action: string
  readonly note: string
}

export interface EventRecorder {
  /** Resolves when the event is recorded, or was left out, or has failed. */
  record(event: ObjectEvent, signal?: AbortSignal): Promise<void>
}

const repeatedAfterMs = 600_000
const maxRemembered = 1_000
/** For each Kubernetes namespace, so that one cannot use up the events of others. */
const maxPerMinute = 20
/** Limits of the API server. */
const maxNoteBytes = 1024
const maxInstanceLength = 128
const maxNameLength = 253

/**
 * Records events (events.k8s.io/v1) in the Kubernetes namespace of the object. Leaves out equal events within ten
 * minutes, and more than 20 a minute in a Kubernetes namespace.
 */
export function createEventRecorder({
  client,
  controller,
  instance,
  onError,
}: EventRecorderOptions): EventRecorder {
  const recorded = new LRUCache<string, true>({ max: maxRemembered, ttl: repeatedAfterMs })
  const counts = new LRUCache<string, number>({ max: maxRemembered, ttl: 60_000, noUpdateTTL: true })

  function isLeftOut({ regarding, reason, note }: ObjectEvent): boolean {
    const { uid, namespace } = regarding.metadata
    const key = `${uid} ${reason} ${note}`
    const count = counts.get(namespace) ?? 0
    if (recorded.has(key) || count >= maxPerMinute) return true
    recorded.set(key, true)
    counts.set(namespace, count + 1)
    return false
  }

  return {
    async record(event, signal) {
      if (isLeftOut(event)) return
      const { regarding, type, reason, action, note } = event
      const { apiVersion, kind, metadata } = regarding
      const { name, namespace, uid, resourceVersion } = metadata
      const content = {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { namespace, name: createEventName(name) },
        eventTime: new Date().toISOString().replace('Z', '000Z'),
        reportingController: controller,
        reportingInstance: instance.slice(0, maxInstanceLength),
        type,
        reason,
        action,
        note: truncate(note, maxNoteBytes),
        regarding: { apiVersion, kind, namespace, name, uid, resourceVersion },
      }
      try {
        await client.post(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`, content, signal)
      } catch (error) {
        onError(toKubernetesError(error))
      }
    },
  }
}

function createEventName(name: string): string {
  const suffix = `.${randomBytes(8).toString('hex')}`
  return name.slice(0, maxNameLength - suffix.length).replace(/[.-]+$/, '') + suffix
}

/** Cuts a text to at most `maxBytes` of UTF-8 without splitting a character. */
function truncate(text: string, maxBytes: number): string {
  const bytes = Buffer.alloc(maxBytes)
  const { written } = new TextEncoder().encodeInto(text, bytes)
  return bytes.toString('utf8', 0, written)
}
