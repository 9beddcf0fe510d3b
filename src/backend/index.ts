export { checkBackend, runBackend } from './run-backend.ts'
