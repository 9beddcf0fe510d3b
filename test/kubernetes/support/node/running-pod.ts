import { mkdir, realpath, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Container, Pod, PodCondition, PodStatus } from 'kubernetes-types/core/v1.js'
import { ApiError, type ApiClient } from '../api-client.ts'
import { createEnvironment, expand } from './container-environment.ts'
import { image, startContainer, type ContainerProcess, type Mount } from './container-process.ts'
import { toLoopback } from './loopback-address.ts'
import { MissingContent } from './pod-contents.ts'
import { namesOf, pathOf, type PodNames } from './pod-fields.ts'
import { PodVolumes } from './pod-volumes.ts'
import { RunningContainer, currentTime } from './running-container.ts'

interface Options {
  readonly pod: Pod
  /** In 10.0.0.0/8. */
  readonly address: string
  readonly client: ApiClient
  /** An own folder of this pod. */
  readonly folder: string
  /** For logs, which outlive the pod. */
  readonly logFolder: string
  /** Variables that the node sets. */
  readonly environment: Readonly<Record<string, string>>
}

const retryMs = 500
/** The kubelet needs about a minute. */
const refreshMs = 2_000

/** A pod of the node: runs its containers and reports its status. */
export class RunningPod {
  readonly names: PodNames
  readonly #options: Options
  readonly #spec: NonNullable<Pod['spec']>
  readonly #namesFolder: string
  readonly #volumes: PodVolumes
  readonly #containers: readonly RunningContainer[]
  readonly #initContainers: readonly RunningContainer[]
  readonly #stopping = new AbortController()
  readonly #conditions = new Map<string, PodCondition>()
  readonly #startTime = currentTime()
  #running: Promise<void> | undefined
  #hosts = ''
  #phase = 'Pending'
  #message = ''
  #isInitialized = false
  #reporting: Promise<void> = Promise.resolve()
  #isReportPending = false
  #isKilled = false

  constructor(options: Options) {
    const { pod, folder } = options
    if (pod.spec === undefined) throw new Error('a pod without a spec')
    this.names = namesOf(pod)
    this.#options = options
    this.#spec = pod.spec
    this.#namesFolder = join(folder, 'names')
    this.#volumes = new PodVolumes({ ...options, folder: join(folder, 'volumes') })
    const { restartPolicy = 'Always', initContainers = [], containers } = pod.spec
    const create = (container: Container, policy: string) => this.#createContainer(container, policy)
    this.#containers = containers.map((container) => create(container, restartPolicy))
    const initPolicy = restartPolicy === 'Never' ? 'Never' : 'OnFailure'
    this.#initContainers = initContainers.map((container) => create(container, initPolicy))
  }

  /** Starts it, unless it was started. Its `/etc/hosts` must exist. */
  start(): void {
    this.#running ??= this.#run()
  }

  /** Ends it within the grace period, and deletes it from the API server. */
  async stop(gracePeriodSeconds: number): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    const end = Date.now() + gracePeriodSeconds * 1_000
    await Promise.all([...this.#initContainers, ...this.#containers].map((container) => container.stop(end)))
    await this.#running
    await this.#reporting
    if (!this.#isKilled) await this.#delete()
  }

  /** Ends it at once, and reports nothing more. */
  async kill(): Promise<void> {
    this.#isKilled = true
    this.#stopping.abort()
    for (const container of [...this.#initContainers, ...this.#containers]) container.kill()
    await this.#running
    await this.#reporting
  }

  /** Replaces the `/etc/hosts` of its containers. */
  async writeHosts(services: string): Promise<void> {
    const { hostAliases = [], hostname } = this.#spec
    const lines = [
      '127.0.0.1 localhost',
      `${toLoopback(this.#options.address)} ${hostname ?? this.names.name}`,
      ...hostAliases.map(({ ip, hostnames = [] }) => `${ip} ${hostnames.join(' ')}`),
    ]
    const text = `${lines.join('\n')}\n${services}`
    if (text === this.#hosts) return
    this.#hosts = text
    const file = join(this.#namesFolder, 'hosts')
    await mkdir(this.#namesFolder, { recursive: true })
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
  }

  async #run(): Promise<void> {
    try {
      await this.#prepare()
      await this.#runContainers()
    } catch (error) {
      this.#message = String(error)
      this.#phase = 'Failed'
    }
    this.#report()
  }

  async #prepare(): Promise<void> {
    this.#report()
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#volumes.update()
        break
      } catch (error) {
        if (!(error instanceof MissingContent)) throw error
        this.#message = error.message
        await this.#sleep(retryMs)
      }
    }
    this.#message = ''
    void this.#refresh()
    for (const container of this.#initContainers) {
      if ((await container.run()) !== 0) throw new Error('an init container failed')
    }
    this.#isInitialized = true
  }

  async #runContainers(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#phase = 'Running'
    this.#report()
    const exitCodes = await Promise.all(this.#containers.map((container) => container.run()))
    this.#phase = exitCodes.every((code) => code === 0) ? 'Succeeded' : 'Failed'
  }

  async #refresh(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#sleep(refreshMs)
      // What is missing now stays as it was.
      await this.#volumes.update().catch(() => undefined)
    }
  }

  #createContainer(container: Container, restartPolicy: string): RunningContainer {
    const { namespace, name } = this.names
    const logFile = join(this.#options.logFolder, `${namespace}_${name}_${container.name}.log`)
    return new RunningContainer({
      container,
      restartPolicy,
      address: toLoopback(this.#options.address),
      logFile,
      gracePeriodSeconds: this.#spec.terminationGracePeriodSeconds ?? 30,
      start: () => this.#startProcess(container, logFile),
      onChange: () => this.#report(),
    })
  }

  async #startProcess(container: Container, logFile: string): Promise<ContainerProcess> {
    const { pod, address, client, folder, environment: fromNode } = this.#options
    if (!/(^|\/)catalog-gateway(-catalog)?[:@]/.test(container.image ?? '')) {
      throw new MissingContent(`failed to pull image "${container.image ?? ''}"`)
    }
    const { securityContext = {} } = this.#spec
    const ofContainer = container.securityContext ?? {}
    const loopback = toLoopback(address)
    const defaults = { ...image.environment, ...fromNode, HOSTNAME: this.names.name, POD_ADDRESS: loopback }
    const environment = await createEnvironment(container, { pod, address, defaults, client })
    const words = [...(container.command ?? image.entrypoint), ...(container.args ?? [])]
    const user = ofContainer.runAsUser ?? securityContext.runAsUser ?? image.user
    const namesMount = { source: this.#namesFolder, target: '/dev/names', isReadOnly: true }
    const process = await startContainer({
      folder: join(folder, container.name),
      words: words.map((word) => expand(word, environment)),
      environment,
      user,
      group: ofContainer.runAsGroup ?? securityContext.runAsGroup ?? user,
      supplementaryGroups: securityContext.fsGroup === undefined ? [] : [securityContext.fsGroup],
      hasReadOnlyRoot: ofContainer.readOnlyRootFilesystem ?? false,
      mounts: [...(await this.#mountsOf(container)), namesMount],
      logFile,
    })
    await writeFile(join(folder, `${container.name}.pid`), String(process.pid ?? ''))
    return process
  }

  async #mountsOf({ volumeMounts = [] }: Container): Promise<readonly Mount[]> {
    const mounts: Mount[] = []
    for (const { name, mountPath, subPath, readOnly = false } of volumeMounts) {
      const folder = await this.#volumes.folderOf(name)
      const source = subPath === undefined ? folder : await realpath(join(folder, subPath))
      mounts.push({ source, target: mountPath, isReadOnly: readOnly })
    }
    return mounts
  }

  /** Sends the present status, once for changes of the same moment. */
  #report(): void {
    if (this.#isReportPending || this.#isKilled) return
    this.#isReportPending = true
    this.#reporting = this.#reporting.then(async () => {
      this.#isReportPending = false
      if (!this.#isKilled) await this.#patchStatus().catch(ignoreDeleted)
    })
  }

  async #patchStatus(): Promise<void> {
    const containerStatuses = this.#containers.map(({ status }) => status)
    const isReady = this.#phase === 'Running' && containerStatuses.every(({ ready }) => ready)
    const { address } = this.#options
    const status: PodStatus = {
      phase: this.#phase,
      message: this.#message,
      hostIP: '10.0.0.1',
      podIP: address,
      podIPs: [{ ip: address }],
      startTime: this.#startTime,
      conditions: [
        this.#condition('Initialized', this.#isInitialized),
        this.#condition('ContainersReady', isReady),
        this.#condition('Ready', isReady),
      ],
      containerStatuses,
      initContainerStatuses: this.#initContainers.map(({ status }) => status),
    }
    const body = { metadata: { uid: this.names.uid }, status }
    const type = 'application/strategic-merge-patch+json'
    await this.#options.client.patch(`${pathOf(this.names)}/status`, body, type)
  }

  #condition(type: string, isTrue: boolean): PodCondition {
    const before = this.#conditions.get(type)
    const status = isTrue ? 'True' : 'False'
    if (before?.status === status) return before
    const condition = { type, status, lastTransitionTime: currentTime() }
    this.#conditions.set(type, condition)
    return condition
  }

  async #delete(): Promise<void> {
    const preconditions = { uid: this.names.uid }
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0, preconditions }
    await this.#options.client.delete(pathOf(this.names), options).catch(ignoreDeleted)
  }

  async #sleep(ms: number): Promise<void> {
    await setTimeout(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
  }
}

/** The pod, or the pod of its name before another one, may be gone. */
function ignoreDeleted(error: unknown): void {
  if (!(error instanceof ApiError && [404, 409, 422].includes(error.status))) throw error
}
