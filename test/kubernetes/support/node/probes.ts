import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { setTimeout } from 'node:timers/promises'
import type { Container, Probe } from 'kubernetes-types/core/v1.js'

interface ProbeListener {
  /** The startup probe has succeeded, or there is none. */
  onStarted(): void
  onReady(isReady: boolean): void
  /** The startup or liveness probe has failed too often. */
  onFailed(probe: string): void
}

/** Runs the probes of a container until the signal. */
export async function runProbes(
  container: Container,
  address: string,
  listener: ProbeListener,
  signal: AbortSignal,
): Promise<void> {
  const { startupProbe, readinessProbe, livenessProbe } = container
  const run = async (probe: Probe, onResult: (isGood: boolean) => boolean) => {
    await repeat(probe, () => call(container, probe, address), onResult, signal)
  }
  let hasStarted = startupProbe === undefined
  if (startupProbe) await run(startupProbe, (isGood) => ((hasStarted = isGood), false))
  if (signal.aborted) return
  if (!hasStarted) return listener.onFailed('startup')
  listener.onStarted()
  if (readinessProbe === undefined) listener.onReady(true)
  await Promise.all([
    readinessProbe && run(readinessProbe, (isGood) => (listener.onReady(isGood), true)),
    livenessProbe &&
      run(livenessProbe, (isGood) => {
        if (!isGood) listener.onFailed('liveness')
        return isGood
      }),
  ])
}

/** Runs a probe each period. Passes on a result after enough equal ones, until `onResult` returns false. */
async function repeat(
  { initialDelaySeconds = 0, periodSeconds = 10, failureThreshold = 3, successThreshold = 1 }: Probe,
  check: () => Promise<boolean>,
  onResult: (isGood: boolean) => boolean,
  signal: AbortSignal,
): Promise<void> {
  let last: boolean | undefined
  let equal = 0
  await sleep(initialDelaySeconds, signal)
  while (!signal.aborted) {
    const isGood = await check()
    if (signal.aborted) return
    equal = isGood === last ? equal + 1 : 1
    last = isGood
    if (equal >= (isGood ? successThreshold : failureThreshold) && !onResult(isGood)) return
    await sleep(periodSeconds, signal)
  }
}

async function sleep(seconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(seconds * 1_000, undefined, { signal }).catch(() => undefined)
}

/** As the kubelet: any response below 400 is a success, and certificates are not verified. */
async function call({ ports = [] }: Container, probe: Probe, address: string): Promise<boolean> {
  const { httpGet, timeoutSeconds = 1 } = probe
  if (httpGet === undefined) throw new Error('the node knows only probes with httpGet')
  const port = ports.find(({ name }) => name === httpGet.port)?.containerPort ?? httpGet.port
  const isHttps = httpGet.scheme === 'HTTPS'
  const options = {
    path: httpGet.path,
    host: address,
    port,
    signal: AbortSignal.timeout(timeoutSeconds * 1_000),
    agent: false,
    headers: { 'user-agent': 'kube-probe/1.36' },
  } as const
  return new Promise((resolve) => {
    const request = isHttps ? requestHttps({ ...options, rejectUnauthorized: false }) : requestHttp(options)
    request
      .on('response', (response) => {
        response.resume().on('error', () => undefined)
        resolve((response.statusCode ?? 500) < 400)
      })
      .on('error', () => resolve(false))
      .end()
  })
}
