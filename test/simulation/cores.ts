/**
 * The code under test: how the simulation makes its parts, so that a test can put a broken one in place of each.
 */
import { RenderQueue, type RenderQueueOptions } from "../../backend/admission/render-queue.ts";
import { BackendChoice } from "../../edge/backends/backend-choice.ts";
import { RenderAttempts } from "../../edge/backends/render-attempts.ts";
import { BodyMemory } from "../../edge/body/body-memory.ts";
import type { Clock } from "../../edge/clock.ts";

export interface Cores {
  makeQueue(options: RenderQueueOptions): RenderQueue;
  makeChoice(count: number): BackendChoice;
  makeAttempts(choice: BackendChoice, deadline: number, random: () => number): RenderAttempts;
  makeMemory(largestBodyBytes: number, maxBytes: number, clock: Clock): BodyMemory;
}

export const REAL_CORES: Cores = {
  makeQueue: (options) => new RenderQueue(options),
  makeChoice: (count) => new BackendChoice(count),
  makeAttempts: (choice, deadline, random) => new RenderAttempts(choice, deadline, random),
  makeMemory: (largestBodyBytes, maxBytes, clock) => new BodyMemory(largestBodyBytes, maxBytes, clock),
};
