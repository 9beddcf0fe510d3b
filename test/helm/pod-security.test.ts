import { expect, it } from 'vitest'
import { goldenManifests, podsOf, valuesNames, type Container, type PodSpec } from './chart.ts'

const pods = valuesNames.flatMap((name) =>
  podsOf(goldenManifests(name)).map(({ component, pod }) => [`${component} of ${name}`, pod] as const),
)

it.each(pods)('the pod %s meets the profile "restricted", and more', (_name, pod) => {
  expect(faultsOf(pod)).toEqual([])
})

it('gateways, catalogs and the test of a release are among the pods', () => {
  const components = new Set(pods.map(([name]) => name.split(' ')[0]))
  expect(components).toEqual(new Set(['gateway', 'catalog', 'test']))
})

it('a pod without a security context would be found', () => {
  const container = { name: 'x', args: [], ports: [{ name: 'http', containerPort: 80, hostPort: 80 }] }
  const pod = {
    containers: [container],
    volumes: [{ name: 'host', hostPath: { path: '/' } }],
    hostNetwork: true,
  }
  expect(faultsOf(pod)).toEqual([
    'hostNetwork',
    'may run as root',
    'a user of the system',
    'no seccomp profile',
    'a token that nobody asked for',
    'the volume host',
    'x: a port of the host',
    'x: allowPrivilegeEscalation',
    'x: readOnlyRootFilesystem',
    'x: capabilities',
  ])
})

/** The volumes that the profile allows. */
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
function faultsOf(pod: PodSpec): string[] {
  const { securityContext = {}, containers, initContainers = [], volumes = [] } = pod
  const faults: string[] = []
  const mustBe = (isSo: boolean, fault: string): void => void (isSo || faults.push(fault))
  for (const shared of ['hostNetwork', 'hostPID', 'hostIPC']) mustBe(!(shared in pod), shared)
  mustBe(securityContext['runAsNonRoot'] === true, 'may run as root')
  mustBe(Number(securityContext['runAsUser'] ?? 0) >= 1000, 'a user of the system')
  const seccomp = securityContext['seccompProfile'] as { type?: string } | undefined
  mustBe(seccomp?.type === 'RuntimeDefault', 'no seccomp profile')
  mustBe('automountServiceAccountToken' in pod, 'a token that nobody asked for')
  for (const { name, ...source } of volumes) {
    mustBe(
      Object.keys(source).every((kind) => volumeKinds.includes(kind)),
      `the volume ${name}`,
    )
  }
  for (const container of [...containers, ...initContainers]) faults.push(...faultsOfContainer(container))
  return faults
}

function faultsOfContainer({ name, securityContext = {}, ports = [] }: Container): string[] {
  const { capabilities, ...rest } = securityContext
  const faults = ports
    .filter(({ hostPort }) => hostPort !== undefined)
    .map(() => `${name}: a port of the host`)
  const wanted = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true }
  for (const [key, value] of Object.entries(wanted)) if (rest[key] !== value) faults.push(`${name}: ${key}`)
  if (rest['privileged'] === true) faults.push(`${name}: privileged`)
  if (JSON.stringify(capabilities) !== '{"drop":["ALL"]}') faults.push(`${name}: capabilities`)
  return faults
}
