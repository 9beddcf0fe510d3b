import { expect, it } from 'vitest'
import { podsOf, type Container, type PodSpec } from './chart.ts'
import { renderedValues } from './rendered-values.ts'

const pods = [...renderedValues].flatMap(([name, manifests]) =>
  podsOf(manifests).map(({ component, pod }) => [`${component} of ${name}`, pod] as const),
)

it.each(pods)('the pod %s meets the profile "restricted", and more', (_name, pod) => {
  expect(errorsOf(pod)).toEqual([])
})

it.skipIf(renderedValues.size === 0)(
  'gateways, catalogs, the check and the helm test are among the pods',
  () => {
    const components = new Set(pods.map(([name]) => name.split(' ')[0]))
    expect(components).toEqual(new Set(['gateway', 'catalog', 'check', 'catalog-check', 'test']))
  },
)

it('the check detects a pod without a security context', () => {
  const container = { name: 'x', args: [], ports: [{ name: 'http', containerPort: 80, hostPort: 80 }] }
  const pod = {
    containers: [container],
    volumes: [{ name: 'host', hostPath: { path: '/' } }],
    hostNetwork: true,
  }
  expect(errorsOf(pod)).toEqual([
    'hostNetwork',
    'may run as root',
    'a user of the system',
    'no seccomp profile',
    'a service account token',
    'the volume host',
    'x: a port of the host',
    'x: allowPrivilegeEscalation',
    'x: readOnlyRootFilesystem',
    'x: capabilities',
  ])
})

const volumeKinds = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

/** Where the pod goes beyond the profile `restricted` of Pod Security Standards, or beyond what the chart promises. */
function errorsOf(pod: PodSpec): string[] {
  const { securityContext = {}, containers, initContainers = [], volumes = [] } = pod
  const errors: string[] = []
  const mustBe = (isSo: boolean, error: string): void => void (isSo || errors.push(error))
  for (const shared of ['hostNetwork', 'hostPID', 'hostIPC']) mustBe(!(shared in pod), shared)
  mustBe(securityContext['runAsNonRoot'] === true, 'may run as root')
  mustBe(Number(securityContext['runAsUser'] ?? 0) >= 1000, 'a user of the system')
  const seccomp = securityContext['seccompProfile'] as { type?: string } | undefined
  mustBe(seccomp?.type === 'RuntimeDefault', 'no seccomp profile')
  mustBe('automountServiceAccountToken' in pod, 'a service account token')
  for (const { name, ...source } of volumes) {
    mustBe(
      Object.keys(source).every((kind) => volumeKinds.includes(kind)),
      `the volume ${name}`,
    )
  }
  for (const container of [...containers, ...initContainers]) errors.push(...errorsOfContainer(container))
  return errors
}

function errorsOfContainer({ name, securityContext = {}, ports = [] }: Container): string[] {
  const { capabilities, ...rest } = securityContext
  const errors = ports
    .filter(({ hostPort }) => hostPort !== undefined)
    .map(() => `${name}: a port of the host`)
  const wanted = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true }
  for (const [key, value] of Object.entries(wanted)) if (rest[key] !== value) errors.push(`${name}: ${key}`)
  if (rest['privileged'] === true) errors.push(`${name}: privileged`)
  if (JSON.stringify(capabilities) !== '{"drop":["ALL"]}') errors.push(`${name}: capabilities`)
  return errors
}
