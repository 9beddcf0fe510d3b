package scenarios;

import java.util.Objects;

/** Prints "ok NAME" or "failed NAME: ERROR" for each step of a scenario. */
final class Steps {
  interface Action {
    Object run() throws Exception;
  }

  interface Check {
    void run() throws Exception;
  }

  static void step(String name, Check check) {
    try {
      check.run();
      System.out.println("ok " + name);
    } catch (Throwable error) {
      String text = String.valueOf(error).replaceAll("\\s+", " ");
      System.out.println("failed " + name + ": " + text.substring(0, Math.min(text.length(), 500)));
    }
  }

  static void expect(Object found, Object expected) {
    if (!Objects.equals(found, expected)) {
      throw new AssertionError("expected " + expected + ", found " + found);
    }
  }

  /** Runs an action that must fail, and returns its error. */
  static <Failure extends Exception> Failure expectFailure(Class<Failure> kind, Action action)
      throws Exception {
    Object result;
    try {
      result = action.run();
    } catch (Exception error) {
      if (kind.isInstance(error)) return kind.cast(error);
      throw error;
    }
    throw new AssertionError("expected " + kind.getSimpleName() + ", found " + result);
  }
}
