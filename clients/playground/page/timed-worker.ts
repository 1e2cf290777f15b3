/** A worker that answers questions, both sides of it. A question may take forever: the page ends the worker then. */

interface Asked<Question> {
  readonly id: number;
  readonly question: Question;
}

/** The worker reports once that it is loaded, which takes long on a slow line. */
type Told<Answer> = "ready" | "not loaded" | { readonly id: number; readonly answer: Answer };

/** In the worker: answers each question, once `loaded` is fulfilled. */
export function answerQuestions<Question, Answer>(
  loaded: Promise<unknown>,
  answer: (question: Question) => Promise<Answer>,
): void {
  const say = (message: Told<Answer>) => postMessage(message);
  const answerAsked = async ({ id, question }: Asked<Question>) => say({ id, answer: await answer(question) });
  // Without a connection nothing is loaded, and the page asks a new worker next time.
  const whenLoaded = (act: () => unknown) => void loaded.then(act, () => say("not loaded"));
  addEventListener("message", ({ data }: MessageEvent<Asked<Question>>) => whenLoaded(() => answerAsked(data)));
  whenLoaded(() => say("ready"));
}

type WorkerAnswer<Answer> = Answer | "too slow" | "not loaded";

/** In the page: the worker starts with the first question, and only the last question is answered. */
export class TimedWorker<Question, Answer> {
  readonly #path: string;
  readonly #maxMilliseconds: number;
  #worker: Worker | null = null;
  #isReady = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastId = 0;
  #answer: (outcome: WorkerAnswer<Answer>) => void = () => {};

  constructor(path: string, maxMilliseconds: number) {
    this.#path = path;
    this.#maxMilliseconds = maxMilliseconds;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  ask(question: Question): Promise<WorkerAnswer<Answer>> {
    const { promise, resolve } = Promise.withResolvers<WorkerAnswer<Answer>>();
    this.#answer = resolve;
    this.#lastId++;
    this.#worker ??= this.#start();
    this.#worker.postMessage({ id: this.#lastId, question } satisfies Asked<Question>);
    if (this.#isReady) this.#startTimer();
    return promise;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#worker?.terminate();
    this.#worker = null;
    this.#isReady = false;
  }

  #start(): Worker {
    const worker = new Worker(this.#path, { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<Told<Answer>>) => {
      if (data === "ready") {
        this.#isReady = true;
        this.#startTimer();
      } else if (data === "not loaded") {
        this.#giveUp(data);
      } else if (data.id === this.#lastId) {
        clearTimeout(this.#timer);
        this.#answer(data.answer);
      }
    });
    worker.addEventListener("error", () => this.#giveUp("not loaded"));
    return worker;
  }

  #startTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#giveUp("too slow"), this.#maxMilliseconds);
  }

  #giveUp(why: "too slow" | "not loaded"): void {
    this.end();
    this.#answer(why);
  }
}
