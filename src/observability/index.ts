/** Log, metrics, traces, and the state of the gateway on the admin port. */
export {
  createAdminServer,
  exportReadiness,
  listen,
  type ReadinessCheck,
  readReadiness,
} from './health/admin-server.ts'
export { createThrottledLog, type GatewayLog, type Logger, openLog } from './log/gateway-log.ts'
export { exportAudit, exportCertificate, exportIdentity, exportSinks } from './metrics/gauges.ts'
export { createMetrics, type Metrics } from './metrics/metrics.ts'
export { createAuditObserver, createSinkObserver, createSyncObserver } from './observers.ts'
export type { SpanBounds } from './traces/span-queue.ts'
export { openTraces, type RequestSpans, type Traces } from './traces/traces.ts'
