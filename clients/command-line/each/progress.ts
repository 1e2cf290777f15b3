/**
 * The progress of `render --each` in one line: a bar, the rate and the remaining time.
 */
import { progressBar } from "../progress.ts";

export interface EachState {
  readonly made: number;
  /** Documents that were there before. */
  readonly present: number;
  readonly failed: number;
  readonly total: number;
}

export function progressInWords(
  { made, present, failed, total }: EachState,
  elapsedSeconds: number,
  jobs: number,
): string {
  const parts = [progressBar(made + present + failed, total)];
  if (failed > 0) parts.push(`${failed} failed`);
  parts.push(`${jobs} at once`);
  // Documents that existed before cost no time.
  const rate = (made + failed) / elapsedSeconds;
  const left = total - made - present - failed;
  if (rate > 0 && Number.isFinite(rate)) {
    parts.push(`${rate < 10 ? rate.toFixed(1) : Math.round(rate)} per second`, `${durationInWords(left / rate)} left`);
  }
  return parts.join(", ");
}

function durationInWords(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.ceil(whole / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
